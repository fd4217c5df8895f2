package sim

// RuleLetters forbids dead letters, except for messages that no function could handle. On each receive,
// the function was killed, ran out of time, could not do its work because calls failed, or was throttled
// until the message was visible again.
const RuleLetters Rule = "dead-letters"

// helpless reports whether an invocation may leave its messages to the next try because it could not
// write. The function for state changes looks up instances, and may also leave those that it could not
// read.
func (inv *invocation) helpless() bool { return inv.failed || inv.missed && inv.v.fn == stateChange }

// excuses records that a receive of messages met such a fault.
func (u *auditor) excuses(batch []message) {
	u.times.cut = u.a.Now()
	for _, m := range batch {
		u.excused[m.id]++
	}
}

// buried audits a message that becomes a dead letter.
func (u *auditor) buried(q *queue, l *letter) {
	if n := u.excused[l.id]; n < l.receives {
		u.broken(RuleLetters, "a message of %s is a dead letter: it was received %d times, and a fault was met %d times: %s", q.name, l.receives, n, l.body)
	}
}
