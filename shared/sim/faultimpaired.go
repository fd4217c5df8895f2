package sim

import "time"

// The status checks that fail.
const (
	checksInstance = "instance" // the instance status checks
	checksSystem   = "system"   // the system status checks
	checksBoth     = "both"     // both: a failed host also fails the instance's checks
)

var checkForms = []string{checksInstance, checksSystem, checksBoth}

// impair makes status checks of the machine fail.
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
