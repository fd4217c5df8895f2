package testbed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Options configure a bed. The zero value works anywhere inside the repository.
type Options struct {
	// Root is the repository's root; if empty, it is searched upward from the working
	// directory.
	Root string
	// AWSOnly starts only the emulated AWS, without a control plane and with an empty
	// account.
	AWSOnly bool
	// Emulator is the program of the emulated AWS, relative to Root; tests/emulator/emulator.py if empty.
	Emulator string
	// RBAC names a file of Kubernetes manifests, relative to Root, with one or more YAML documents. They are applied
	// once at the start. If it is empty, the viewers have no permissions.
	RBAC string
	// Identities are additional access keys for STS, besides those of [Viewer], [Remediator], [Operator], [Administrator] and
	// [Stranger].
	Identities []Identity
	// Viewers are additional roles, by ARN, that the default aws-auth maps to [ViewersGroup], besides
	// [Viewer]'s.
	Viewers []string
	// Remediators are additional roles, by ARN, that the default aws-auth maps to [RemediatorsGroup], besides
	// [Remediator]'s.
	Remediators []string
	// Grace is how long a node may be silent before the controller marks it Unknown; zero means 10 s, a fifth of the
	// usual. Set more if no test needs silence: a machine that stalls for that long silences every node at once.
	Grace time.Duration
	// Log receives progress and background errors; nil discards them.
	Log func(format string, args ...any)
}

// A Bed is a running testbed. Its methods are safe for concurrent use, except for Reset and Close.
type Bed struct {
	options Options
	dir     string
	python  string
	bin     string
	// emulator is the path of the program of the emulated AWS.
	emulator string
	// karpenterCRDs is the path of Karpenter's custom resource definitions.
	karpenterCRDs string

	spawner   *spawner
	processes []*process // in the order in which they started
	ca        *authority
	proxy     *proxy
	endBeats  func()
	beatsDone chan struct{}
	beating   nameSet

	etcd              string
	authenticatorPort int
	awsEndpoint       string
	apiServer         string
	admin             *rest.Config
	kube              kubernetes.Interface
	claims            dynamic.Interface
	audited           int64 // bytes of the audit log that are forgotten
	authVersion       atomic.Int64
	questions         atomic.Int64
	topics            atomic.Int64

	ec2         *ec2.Client
	autoscaling *autoscaling.Client
	eks         *eks.Client
	sns         *sns.Client
	sqs         *sqs.Client

	ground foundation
}

// Start starts a bed and returns when all parts answer and [Bed.Reset] has run once, after about 5 seconds. On
// failure, the started parts are stopped and the logs are kept: the error says where.
func Start(ctx context.Context, options Options) (*Bed, error) {
	b := &Bed{options: options}
	if err := b.locate(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "rollcall-testbed-")
	if err != nil {
		return nil, fmt.Errorf("make the testbed's directory: %w", err)
	}
	b.dir = dir
	b.spawner = newSpawner()
	if err := b.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start the testbed (logs are in %s): %w", filepath.Join(b.dir, "logs"), err), b.stop())
	}
	return b, nil
}

func (b *Bed) start(ctx context.Context) error {
	if err := os.Mkdir(filepath.Join(b.dir, "logs"), 0o700); err != nil {
		return fmt.Errorf("make the log directory: %w", err)
	}
	if b.options.AWSOnly {
		ready, err := b.startEmulator()
		if err != nil {
			return err
		}
		return ready(ctx)
	}
	ca, err := newAuthority()
	if err != nil {
		return err
	}
	b.ca = ca
	identities := append([]Identity{Viewer, Remediator, Operator, Administrator, Stranger, Seeder, prober}, b.options.Identities...)
	if b.proxy, err = startProxy(newSTSServer(identities, time.Now), ca); err != nil {
		return err
	}
	began := time.Now()
	// The processes are started in sequence, because the list of them is not locked, and awaited together.
	emulator, err := b.startEmulator()
	if err != nil {
		return err
	}
	etcd, err := b.startEtcd()
	if err != nil {
		return err
	}
	apiserver, err := b.startAPIServer()
	if err != nil {
		return err
	}
	var waits errgroup.Group
	waits.Go(func() error { return emulator(ctx) })
	waits.Go(func() error { return etcd(ctx) })
	waits.Go(func() error { return apiserver(ctx) })
	if err := waits.Wait(); err != nil {
		return err
	}
	b.logf("emulator and API server are up after %s", time.Since(began).Round(time.Millisecond))
	if err := b.setIdentities(ctx, identities); err != nil {
		return err
	}
	if err := b.writeAWSAuth(ctx, b.mapRoles()); err != nil { // the authenticator reads it when it starts
		return err
	}
	if err := b.ApplyRBAC(ctx); err != nil {
		return err
	}
	if err := b.installKarpenter(ctx); err != nil {
		return err
	}
	if err := b.startControllers(); err != nil {
		return err
	}
	authenticator, err := b.startAuthenticator()
	if err != nil {
		return err
	}
	if err := authenticator(ctx); err != nil {
		return err
	}
	if err := b.awaitAWSAuth(ctx); err != nil {
		return err
	}
	beats, end := context.WithCancel(context.Background())
	b.endBeats, b.beatsDone = end, make(chan struct{})
	go func() {
		defer close(b.beatsDone)
		b.heartbeat(beats)
	}()
	if err := b.Reset(ctx); err != nil {
		return err
	}
	b.logf("the testbed is ready after %s; logs are in %s", time.Since(began).Round(time.Millisecond), filepath.Join(b.dir, "logs"))
	return nil
}

// Close stops everything and removes the bed's directory. It may be called more than once.
func (b *Bed) Close() error {
	err := b.stop()
	if rm := os.RemoveAll(b.dir); rm != nil {
		err = errors.Join(err, fmt.Errorf("remove the testbed's directory: %w", rm))
	}
	return err
}

// stop stops everything that runs, the last started first.
func (b *Bed) stop() error {
	if b.spawner == nil {
		return nil
	}
	var errs []error
	if b.endBeats != nil {
		b.endBeats()
		<-b.beatsDone
	}
	for _, p := range slices.Backward(b.processes) {
		errs = append(errs, p.kill())
	}
	b.spawner.stop()
	b.spawner = nil
	if b.proxy != nil {
		errs = append(errs, b.proxy.stop())
	}
	return errors.Join(errs...)
}

// AWSEndpoint returns the URL of the emulated AWS.
func (b *Bed) AWSEndpoint() string { return b.awsEndpoint }

// APIServer returns the URL of the Kubernetes API server.
func (b *Bed) APIServer() string { return b.apiServer }

// CA returns the PEM of the certificate authority that signed the API server's certificate.
func (b *Bed) CA() []byte { return b.ca.pem }

// Kube returns a client of the API server with all permissions.
func (b *Bed) Kube() kubernetes.Interface { return b.kube }

// AdminConfig returns the configuration of the client of [Bed.Kube].
func (b *Bed) AdminConfig() *rest.Config { return rest.CopyConfig(b.admin) }

// Kubeconfig returns the path of a kubeconfig with all permissions, for kubectl.
func (b *Bed) Kubeconfig() string { return filepath.Join(b.dir, "admin.kubeconfig") }

// Dir returns the directory that holds all files of the bed until Close, logs included.
func (b *Bed) Dir() string { return b.dir }

// Env returns the environment variables, as NAME=value, that direct a process to the bed with the credentials of
// [Viewer]. Add them to a base that has PATH and the like.
func (b *Bed) Env() []string { return b.EnvFor(Viewer) }

// EnvFor is [Bed.Env] with the credentials of another identity.
func (b *Bed) EnvFor(id Identity) []string {
	none := filepath.Join(b.dir, "none") // ignores the configuration of the user who runs the tests
	return []string{
		"AWS_ENDPOINT_URL=" + b.awsEndpoint,
		"AWS_REGION=" + Region,
		"AWS_DEFAULT_REGION=" + Region,
		"AWS_ACCESS_KEY_ID=" + id.AccessKeyID,
		"AWS_SECRET_ACCESS_KEY=" + id.SecretAccessKey,
		"AWS_EC2_METADATA_DISABLED=true",
		"AWS_CONFIG_FILE=" + none,
		"AWS_SHARED_CREDENTIALS_FILE=" + none,
	}
}

// AWSConfig returns an SDK configuration for the emulator with the credentials of [Viewer].
func (b *Bed) AWSConfig() aws.Config { return b.AWSConfigFor(Viewer) }

// AWSConfigFor is [Bed.AWSConfig] with the credentials of another identity.
func (b *Bed) AWSConfigFor(id Identity) aws.Config {
	return aws.Config{
		Region:       Region,
		BaseEndpoint: aws.String(b.awsEndpoint),
		HTTPClient:   HTTPClient,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return id.Credentials(), nil
		}),
	}
}

const emulatorProgram = "tests/emulator/emulator.py"

// locate finds the repository and the files of "make testbed-deps".
func (b *Bed) locate() error {
	root := b.options.Root
	if root == "" {
		wd, err := os.Getwd()
		if err != nil {
			return fmt.Errorf("find the repository: %w", err)
		}
		if root, err = findRoot(wd); err != nil {
			return err
		}
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return fmt.Errorf("find the repository: %w", err)
	}
	b.options.Root = root
	b.bin = filepath.Join(root, ".build", "bin")
	b.python = filepath.Join(root, ".venv", "bin", "python")
	b.karpenterCRDs = filepath.Join(root, ".build", "karpenter-crds.yaml")
	b.emulator = filepath.Join(root, cmp.Or(b.options.Emulator, emulatorProgram))
	// Reading the programs' metadata makes the go command notice their changes.
	parts := []string{b.python, b.emulator, filepath.Join(root, emulatorProgram)}
	if !b.options.AWSOnly {
		parts = append(parts, b.karpenterCRDs, b.binary("etcd"), b.binary("kube-apiserver"), b.binary("kube-controller-manager"), b.binary("aws-iam-authenticator"))
	}
	var missing []error
	for _, path := range parts {
		if _, err := os.Stat(path); err != nil {
			missing = append(missing, err)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("the testbed's parts are not built; run \"make testbed-deps\": %w", errors.Join(missing...))
	}
	return nil
}

func (b *Bed) binary(name string) string { return filepath.Join(b.bin, name) }

func (b *Bed) logPath(name string) string { return filepath.Join(b.dir, "logs", name+".log") }

func (b *Bed) logf(format string, args ...any) {
	if b.options.Log != nil {
		b.options.Log(format, args...)
	}
}

// spawn starts a child and records it for Close. The child's environment is PATH, HOME and env only.
func (b *Bed) spawn(name string, env []string, path string, args ...string) (*process, error) {
	base := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + cmp.Or(os.Getenv("HOME"), b.dir)}
	p, err := b.spawner.start(name, b.logPath(name), append(base, env...), path, args...)
	if err != nil {
		return nil, err
	}
	b.processes = append(b.processes, p)
	return p, nil
}
