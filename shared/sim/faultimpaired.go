package sim

import "time"

// Which status checks of a machine fail.
const (
	checksInstance = "instance" // those of the instance
	checksSystem   = "system"   // those of what it runs on
	checksBoth     = "both"     // a host that is gone takes the instance's with it
)

var checkForms = []string{checksInstance, checksSystem, checksBoth}

// impair has status checks of the machine fail.
func (m *machine) impair(f Fault) {
	m.checkFails = f.Value
	m.fall(impaired, false, false)
	since := m.since
	m.c.a.in(5*time.Minute, func() {
		if m.failsCheck() && m.since.Equal(since) {
			m.arose(f, "EC2 shows for five minutes that its status checks fail: "+f.Value)
		}
	})
}
