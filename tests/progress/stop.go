package main

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// process is a row of ps.
type process struct {
	id, parent int
	program    string
}

// interrupt has the test binary of a package, a descendant of the process root, print its
// stacks and end.
func interrupt(root int, name string) {
	out, err := exec.Command("ps", "-A", "-o", "pid=,ppid=,args=").Output()
	if err != nil {
		return
	}
	for _, id := range binaries(processes(string(out)), root, name) {
		// Two packages may have the same last element; where /proc is, the folder tells.
		if dir, err := os.Readlink("/proc/" + strconv.Itoa(id) + "/cwd"); err == nil && !strings.HasSuffix(dir, "/"+short(name)) {
			continue
		}
		_ = syscall.Kill(id, syscall.SIGQUIT)
	}
}

// processes returns the rows of ps -o pid=,ppid=,args=.
func processes(ps string) (out []process) {
	for line := range strings.Lines(ps) {
		f := strings.Fields(line)
		if len(f) < 3 {
			continue
		}
		id, err := strconv.Atoi(f[0])
		parent, also := strconv.Atoi(f[1])
		if err == nil && also == nil {
			out = append(out, process{id, parent, f[2]})
		}
	}
	return out
}

// binaries returns the ids of the processes that descend from root and run a package's tests.
func binaries(all []process, root int, name string) (out []int) {
	parents := map[int]int{}
	for _, p := range all {
		parents[p.id] = p.parent
	}
	for _, p := range all {
		if filepath.Base(p.program) != path.Base(name)+".test" {
			continue
		}
		for id := p.id; id > 1; id = parents[id] {
			if id == root {
				out = append(out, p.id)
				break
			}
		}
	}
	return out
}
