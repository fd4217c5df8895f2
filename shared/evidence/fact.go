// Package evidence is the vocabulary of a diagnosis: what was read of an instance, its role,
// its network, its user data, its node and its cluster, and what could not be read and why.
//
// The values hold only what analyzers need of the answers of AWS and Kubernetes. Everything
// that costs a call is a Fact, so that "not asked", "does not exist" and "could not be read"
// are never confused. Secrets are not kept: user data and console output are kept as findings
// about the text, not as text.
//
// The package is pure: values only, no I/O, no clock.
package evidence

// State says whether a fact is known.
type State uint8

// The states. The zero value is NotAsked, so that an unread fact is never taken for an answer.
const (
	NotAsked   State = iota // not read; Why may give the reason, such as sampling
	Known                   // it was read
	Absent                  // it was read, and certainly does not exist
	Unreadable              // it could not be read, for the reason in Why
)

// String returns the state as a word.
func (s State) String() string {
	switch s {
	case Known:
		return "known"
	case Absent:
		return "absent"
	case Unreadable:
		return "unreadable"
	}
	return "not asked"
}

// Fact is the answer to one question.
type Fact[T any] struct {
	Value T // the zero value unless Known
	State State
	// Why is the reason why it was not or could not be read: a sentence without its full stop
	// that names the call, its object and what to do, such as
	// "iam:GetRole on my-role: no permission for rollcall-inspect".
	Why string
}

// Read returns a known fact.
func Read[T any](v T) Fact[T] { return Fact[T]{Value: v, State: Known} }

// None returns a fact about something that does not exist.
func None[T any]() Fact[T] { return Fact[T]{State: Absent} }

// Failed returns a fact that could not be read.
func Failed[T any](why string) Fact[T] { return Fact[T]{State: Unreadable, Why: why} }

// Skipped returns a fact that was not read.
func Skipped[T any](why string) Fact[T] { return Fact[T]{State: NotAsked, Why: why} }

// AnswerOf begins the reason of a fact if a field that the API always returns is missing in the
// answer. Such an answer is incomplete and counts as a failed call.
const AnswerOf = "the answer of "

// Known reports whether there is a value.
func (f Fact[T]) Known() bool { return f.State == Known }

// Settled reports whether there is a value, or certainly none.
func (f Fact[T]) Settled() bool { return f.State == Known || f.State == Absent }

// Then returns the fact that follows from another. If the first is not known, the second is not
// known for the same reason.
func Then[A, B any](f Fact[A], next func(A) Fact[B]) Fact[B] {
	if !f.Known() {
		return Fact[B]{State: f.State, Why: f.Why}
	}
	return next(f.Value)
}

// Gap returns the reason why the fact is not settled, "" if it is.
func (f Fact[T]) Gap() string {
	switch {
	case f.Settled():
		return ""
	case f.Why != "":
		return f.Why
	case f.State == Unreadable:
		return "it could not be read"
	}
	return "it was not asked for"
}

// Missing returns the reason why a needed value is not known. It also covers a thing that does
// not exist; what names the thing.
func (f Fact[T]) Missing(what string) string {
	switch {
	case f.State == Absent:
		return "there is no " + what
	case f.State == NotAsked && f.Why == "":
		return what + " was not read"
	}
	return f.Gap()
}
