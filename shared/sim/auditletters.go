package sim

// RuleLetters is that no message ends as a dead letter but for what no function can help: each time
// that it was received the function was killed, ran out of time, could not do its work for calls that
// failed, or was throttled until the message was visible again.
const RuleLetters Rule = "dead-letters"

// helpless reports an invocation that may leave its messages to the next try: it could not write. One
// that is told of state changes looks instances up, and leaves those to the next try that it could not.
func (inv *invocation) helpless() bool { return inv.failed || inv.missed && inv.v.fn == stateChange }

// excuses notes that a receive of messages met such a fault.
func (u *auditor) excuses(batch []message) {
	for _, m := range batch {
		u.excused[m.id]++
	}
}

// buried checks a message that becomes a dead letter.
func (u *auditor) buried(q *queue, l *letter) {
	if n := u.excused[l.id]; n < l.receives {
		u.broken(RuleLetters, "a message of %s is a dead letter: it was received %d times, and a fault was met %d times: %s", q.name, l.receives, n, l.body)
	}
}
