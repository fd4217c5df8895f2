package noticetest

import (
	"strings"
	"testing"
)

const sound = `2 instances were launched for this cluster and have not registered as nodes.
NodeRoleNotMapped: the role is not mapped.

To fix NodeRoleNotMapped:
  aws eks create-access-entry --principal-arn x

Where: nodepool/batch of payments
Since: 2026-03-02 11:43:00Z (17m)

To see everything else:
  rollcall explain i-1
`

// Each fault is found.
func TestFaults(t *testing.T) {
	document := `{"cluster":"payments","action":"none","summary":"2 instances were launched","causes":[{"code":"NodeRoleNotMapped","fix":"aws eks create-access-entry --principal-arn x"}]}`
	good := Notice{Subject: "payments: 2 nodes can't join", Text: sound, JSON: []byte(document), Chat: []byte(`{"content":{"title":"! payments: 2 nodes can't join","description":"2 instances were launched for this cluster and have not registered as nodes.\n"}}`)}
	if faults := Faults(good); len(faults) > 0 {
		t.Fatalf("a sound notice: %q", faults)
	}
	for want, spoil := range map[string]func(*Notice){
		"1 to 100":                            func(n *Notice) { n.Subject += strings.Repeat("x", 100) },
		"begin with the cluster":              func(n *Notice) { n.Subject = "2 nodes can't join" },
		"lines of text":                       func(n *Notice) { n.Text += strings.Repeat("a fact\n", MostLines) },
		"before the first command":            func(n *Notice) { n.Text = strings.Repeat("long ", MostBefore/5) + n.Text },
		"no command\n":                        func(n *Notice) { n.Text = "It is broken.\n" },
		"everything else":                     func(n *Notice) { n.Text = strings.Replace(n.Text, "rollcall explain", "explain", 1) },
		"second block is no":                  func(n *Notice) { n.Text = strings.Replace(n.Text, "\n\nTo fix", "\n\nSince: now\n\nTo fix", 1) },
		"second block lacks":                  func(n *Notice) { n.Text = strings.Replace(n.Text, "create-access-entry", "list", 1) },
		"fix of NodeRoleNotMapped is missing": func(n *Notice) { n.Text = strings.Replace(n.Text, "To fix NodeRoleNotMapped", "To see", 1) },
		"blocks of commands":                  func(n *Notice) { n.Text += "\nTo stop it:\n  aws a\n\nTo let it:\n  aws b\n" },
		"comes twice":                         func(n *Notice) { n.Text += "  rollcall explain i-1\n" },
		"rather report":                       func(n *Notice) { n.Text += "It was told before.\n" },
		"rather terminate":                    func(n *Notice) { n.Text += "Karpenter ends instances.\n" },
		"rather check":                        func(n *Notice) { n.Text += "A second look found another case.\n" },
		"the chat's title":                    func(n *Notice) { n.Subject = "payments: other" },
		"mail, chat and JSON":                 func(n *Notice) { n.Text = "Other. " + n.Text },
	} {
		n := good
		spoil(&n)
		if got := strings.Join(Faults(n), "\n") + "\n"; !strings.Contains(got, want) {
			t.Errorf("want %q, got %s", want, got)
		}
	}
}
