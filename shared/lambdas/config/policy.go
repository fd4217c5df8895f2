package config

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/policy"
)

type ssmAPI interface {
	GetParameter(context.Context, *ssm.GetParameterInput, ...func(*ssm.Options)) (*ssm.GetParameterOutput, error)
}

// PolicyAge is the maximum age of a policy in functions that destroy nothing.
const PolicyAge = time.Minute

// policyMemory records which policy parameters were ever read; *ledger.Dynamo implements it.
type policyMemory interface {
	PolicySeen(ctx context.Context, parameter string) (bool, error)
	SeePolicy(ctx context.Context, parameter string) error
}

// PolicyParameterStore reads the policy document from an SSM parameter.
type PolicyParameterStore struct {
	api       ssmAPI
	parameter string
	deployed  policy.Registration
	unusable  error // why the deployment's times are not used
	memory    policyMemory

	mu   sync.Mutex
	seen bool             // the memory has a record that there is a policy
	good *policy.Document // the last policy that validated
	text string           // its source text
	at   time.Time        // when it was read
}

// BuiltIn as the name of the parameter asks for the built-in policy: no parameter is read.
const BuiltIn = "none"

// ErrNoPolicy means that the parameter does not exist. It was deleted, and may have protected
// nodes; or it was never written, and its name may be misspelt.
var ErrNoPolicy = errors.New("there is no such SSM parameter: nothing is acted on without it; write it, with at least the lines \"apiVersion: rollcall/v1\" and \"mode: observe\": without a mode it does what the stack permits")

// errNeverWritten is ErrNoPolicy of a parameter that no function has ever read.
var errNeverWritten = fmt.Errorf("it was never written; is PolicyParameter misspelt? PolicyParameter=none asks for the built-in policy: %w", ErrNoPolicy)

// NewPolicyStore returns the store for the parameter in the settings. The settings'
// registration times apply where the document has none.
func NewPolicyStore(api ssmAPI, s Settings) *PolicyParameterStore {
	return &PolicyParameterStore{
		api: api, parameter: s.PolicyParameter, deployed: policy.Registration{WarnAfter: s.WarnAfter, Deadline: s.Deadline}, unusable: s.Tolerances,
	}
}

// Remembering distinguishes a deleted parameter from one that never existed. Neither permits acts.
// If it never existed, reports follow the built-in policy, and a stack that does not act needs no
// parameter. Without a memory, a missing parameter counts as deleted.
func (p *PolicyParameterStore) Remembering(m policyMemory) *PolicyParameterStore {
	p.memory = m
	return p
}

// Read reads the policy again. It returns an error if the parameter could not be read, does
// not exist (ErrNoPolicy), or does not validate. After an error nothing may be destroyed. If the
// parameter's name is BuiltIn, it returns the built-in policy.
func (p *PolicyParameterStore) Read(ctx context.Context) (*policy.Document, error) {
	doc, _, err := p.read(ctx)
	return doc, err
}

// read reads the policy again. stopped reports whether an invalid document contains stop:
// true.
func (p *PolicyParameterStore) read(ctx context.Context) (doc *policy.Document, stopped bool, err error) {
	if p.parameter == BuiltIn {
		return policy.Default().Deployed(p.deployed), false, p.unusable
	}
	out, err := p.api.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String(p.parameter), WithDecryption: aws.Bool(true)})
	switch {
	case awserr.IsNotFound(err):
		return nil, false, p.absent(ctx)
	case err != nil:
		return nil, false, errors.New(awserr.Describe(err, "ssm:GetParameter", ""))
	case out.Parameter == nil:
		return nil, false, fmt.Errorf("the answer for parameter %s holds none", p.parameter)
	}
	if err := p.see(ctx); err != nil {
		return nil, false, err
	}
	said := aws.ToString(out.Parameter.Value)
	p.mu.Lock()
	doc, same := p.good, p.good != nil && p.text == said
	p.mu.Unlock()
	if same {
		return doc, false, p.unusable
	}
	text := []byte(said)
	if doc, err = policy.Parse(text); err != nil {
		return nil, policy.Stops(text), fmt.Errorf("the policy in parameter %s:\n%w", p.parameter, err)
	}
	doc = doc.Deployed(p.deployed)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.good, p.text = doc, said
	return doc, false, p.unusable
}

// absent returns why there is no policy: ErrNoPolicy, which is errNeverWritten if there never was a
// parameter.
func (p *PolicyParameterStore) absent(ctx context.Context) error {
	why := ErrNoPolicy
	if p.memory != nil {
		seen, err := p.memory.PolicySeen(ctx, p.parameter)
		if err != nil {
			return err
		}
		if !seen {
			why = errNeverWritten
		}
	}
	return fmt.Errorf("the policy in parameter %s: %w", p.parameter, why)
}

// see records that there is a policy.
func (p *PolicyParameterStore) see(ctx context.Context) error {
	p.mu.Lock()
	known := p.seen || p.memory == nil
	p.mu.Unlock()
	if known {
		return nil
	}
	if err := p.memory.SeePolicy(ctx, p.parameter); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = true
	return nil
}

// Usable reads the policy at most once per maxAge, and falls back to the last good one, or
// to the built-in one. With the last good one the mode is at most notify, so that nothing
// is destroyed on a guess. With the built-in one it is observe, since the unreadable
// document may say so; if there never was a document, it is at most notify, and no error for
// a stack that permits no more. An invalid document that says stop stops every act under its
// replacement. The error says that it fell back, and why.
func (p *PolicyParameterStore) Usable(ctx context.Context, permitted policy.Mode, now time.Time, maxAge time.Duration) (*policy.Document, policy.Mode, error) {
	p.mu.Lock()
	if p.good != nil && now.Sub(p.at) < maxAge && !now.Before(p.at) {
		defer p.mu.Unlock()
		return p.good, permitted, nil
	}
	p.mu.Unlock()
	doc, stopped, err := p.read(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.at = now
		return doc, permitted, nil
	}
	lowered := policy.Observe
	if doc = policy.Default().Deployed(p.deployed); p.good != nil {
		doc, lowered = p.good, policy.Lower(permitted, policy.Notify)
	} else if errors.Is(err, errNeverWritten) {
		if lowered = policy.Lower(permitted, policy.Notify); lowered == permitted {
			err = p.unusable
		}
	}
	if stopped {
		doc = doc.Halted()
	}
	return doc, lowered, err
}
