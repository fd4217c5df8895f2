package kube

import (
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// To an address that drops what is sent to it, as a private endpoint does, a request fails after
// connectTimeout and not after requestTimeout.
func TestAnAPIServerThatCannotBeConnectedToIsGivenUpSoon(t *testing.T) {
	t.Parallel()
	address := full(t)
	c, err := NewClient("https://"+address, nil, "rollcall", nil)
	must.Succeed(t, err)
	began := time.Now()
	err = c.Nodes(t.Context(), roll.Watch{}, func(roll.Node) {}, func() {})
	took := time.Since(began)
	expect.That(t, err != nil && took <= 4*connectTimeout, "%v after %s", err, took)
	kind, said := Fault(roll.Cluster{ID: roll.ClusterID{Name: "demo"}, Endpoint: "https://" + address}, err, "")
	expect.That(t, kind == roll.GapClusterUnreachable && strings.Contains(said, "is its endpoint reachable from here"), "%s: %s", kind, said)
}

// full returns the address of a socket whose queue of connections is full: the kernel drops further ones.
func full(t *testing.T) string {
	t.Helper()
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	must.Succeed(t, err)
	t.Cleanup(func() { _ = syscall.Close(socket) })
	must.Succeed(t, syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	must.Succeed(t, syscall.Listen(socket, 0))
	name, err := syscall.Getsockname(socket)
	must.Succeed(t, err)
	address := fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port)
	for range 10 {
		waiting, err := net.DialTimeout("tcp", address, 300*time.Millisecond)
		if err != nil {
			return address
		}
		t.Cleanup(func() { _ = waiting.Close() })
	}
	t.Fatal("the queue does not fill")
	return ""
}
