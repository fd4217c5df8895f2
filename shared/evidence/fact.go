// Package evidence is the vocabulary of what a diagnosis rests on: what was read of
// an instance, its role, its network, its user data, its node and its cluster, each
// with what could not be read and why.
//
// The values are cut down from what AWS and Kubernetes answer to what causes are
// told by. Everything that costs a call is a Fact, so that "not asked", "there is
// none" and "could not be read" are never taken for each other. Secrets do not enter:
// user data and console output are kept as findings about the text, not as text.
//
// The package is pure: values only, no I/O, no clock.
package evidence

// State is what became of a question.
type State uint8

// The states. The zero value is NotAsked, so that what nobody read is never taken for
// an answer.
const (
	NotAsked   State = iota // nobody asked; Why may tell the reason, such as sampling
	Known                   // it was read
	Absent                  // it was asked for, and there certainly is none
	Unreadable              // it was asked for, and could not be read: Why tells
)

// String is the state as a word.
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
	// Why says why it was not asked or could not be read: a sentence without its full
	// stop that names the call, on what, and what to do, such as
	// "iam:GetRole on my-role: no permission for rollcall-inspect".
	Why string
}

// Read is a fact that is known.
func Read[T any](v T) Fact[T] { return Fact[T]{Value: v, State: Known} }

// None is a fact of which it is known that there is none.
func None[T any]() Fact[T] { return Fact[T]{State: Absent} }

// Failed is a fact that could not be read.
func Failed[T any](why string) Fact[T] { return Fact[T]{State: Unreadable, Why: why} }

// Skipped is a fact that was not asked for.
func Skipped[T any](why string) Fact[T] { return Fact[T]{State: NotAsked, Why: why} }

// AnswerOf begins the reason why something is not known where the answer of an API lacks what it
// always has, as one that was cut down does: that is as if the call had failed.
const AnswerOf = "the answer of "

// Known reports whether there is a value.
func (f Fact[T]) Known() bool { return f.State == Known }

// Settled reports whether the question is answered: there is a value, or certainly none.
func (f Fact[T]) Settled() bool { return f.State == Known || f.State == Absent }

// Then is a fact that follows from another one. While the first is not known, the second is
// not known either, for the same reason.
func Then[A, B any](f Fact[A], next func(A) Fact[B]) Fact[B] {
	if !f.Known() {
		return Fact[B]{State: f.State, Why: f.Why}
	}
	return next(f.Value)
}

// Gap tells why there is no answer, "" if there is one.
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

// Missing says why a value that a check needs is not known, also where the thing, which
// what names, certainly does not exist.
func (f Fact[T]) Missing(what string) string {
	switch {
	case f.State == Absent:
		return "there is no " + what
	case f.State == NotAsked && f.Why == "":
		return what + " was not read"
	}
	return f.Gap()
}
