package awsauth

import (
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"
	"sigs.k8s.io/aws-iam-authenticator/pkg/config"
	"sigs.k8s.io/aws-iam-authenticator/pkg/mapper/configmap"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// asRejected decodes one entry as the authenticator does.
func asRejected(t *testing.T, text string, index int) *config.RoleMapping {
	t.Helper()
	list, _ := entries(text)
	m := new(config.RoleMapping)
	_ = json.Unmarshal(list[index], m)
	return m
}

// What is kept, dropped and rejected is what the authenticator's ParseMap keeps, drops and rejects.
func FuzzParse(f *testing.F) {
	logger := logrus.StandardLogger().Out
	logrus.SetOutput(io.Discard) // ParseMap logs what it drops
	f.Cleanup(func() { logrus.SetOutput(logger) })
	for _, text := range []string{
		node,
		node + "- username: a\n" + node,
		"- rolearn: arn:aws:iam::111122223333:role/NODE\n- rolearn: arn:aws:iam::111122223333:role/node\n",
		"- rolearn: \"a\\x7f\"\n- {}\n",
		`{"rolearn": "x"}`,
		"- &a [*a]\n",
		"- ? [a]\n  : b\n",
		"- sso: {permissionSetName: View, accountID: '111122223333'}\n-\n",
		"- sso: {permissionSetName: View, accountID: '1'}\n- sso: {permissionSetName: '', accountID: '111122223333'}\n- sso: {permissionSetName: A, accountID: '111122223333', partition: aws-cn}\n",
		"- sso: {permissionSetName: A, accountID: '111122223333', partition: nowhere}\n- sso: {}\n  rolearn: a\n- sso: []\n- userid: []\n",
		"- rolearn: a\n  RoleArn: b\n  groups: c\n- 1e999\n",
		"- userarn: arn:aws:iam::111122223333:user/A\n- userarn: [b]\n- {}\n- userarn: c\n  groups: d\n",
		"''",
		" \"\"\n",
		"``",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		data := map[string]string{"mapRoles": text}
		got := Parse(data)
		if diff := cmp.Diff(got, Parse(data)); diff != "" {
			t.Errorf("not stable: %s", diff)
		}
		_, kept, _, err := configmap.ParseMap(data)
		if (err == nil) && (got.Unparseable != "" || len(got.Rejected) > 0) {
			t.Errorf("the authenticator has nothing against %q: %+v", text, got)
		}
		if got.Unparseable != "" && len(got.Roles)+len(got.Rejected) > 0 {
			t.Errorf("unparseable, and yet: %+v", got)
		}
		must.That(t, len(kept) == len(got.Roles), "%d mappings, the authenticator has %d", len(got.Roles), len(kept))
		index := map[int]bool{}
		for _, r := range got.Rejected {
			expect.That(t, r.Index >= 0 && !index[r.Index] && r.Why != "", "rejected %+v", r)
			index[r.Index] = true
			if m := asRejected(t, text, r.Index); m.Validate() == nil || !strings.HasPrefix(r.Why, "it is not a mapping but ") && !strings.HasPrefix(r.Why, shortened(m.Validate().Error())) {
				t.Errorf("rejected %+v, the authenticator: %v", r, m.Validate())
			}
		}
		effective := map[string]config.RoleMapping{} // as the authenticator's saveMap
		for i, m := range got.Roles {
			expect.That(t, !index[m.Index] && m.Index >= i && m.Index < len(got.Roles)+len(got.Rejected), "index %d of mapping %d", m.Index, i)
			index[m.Index] = true
			if m.ARN != kept[i].RoleARN || m.Username != kept[i].Username || !cmp.Equal(m.Groups, kept[i].Groups) {
				t.Errorf("mapping %+v, the authenticator has %+v", m, kept[i])
			}
			effective[kept[i].Key()] = kept[i]
		}
		for _, m := range got.Roles {
			want, ok := effective[m.Canonical]
			if !m.Effective {
				continue
			}
			expect.That(t, ok && want.Username == m.Username && cmp.Equal(want.Groups, m.Groups), "effective is %+v, the authenticator has %+v", m, want)
			delete(effective, m.Canonical)
		}
		expect.That(t, len(effective) == 0, "not effective: %v", effective)
		users, _, _, _ := configmap.ParseMap(map[string]string{"mapUsers": text})
		var want []string
		for _, u := range users {
			want = append(want, strings.ToLower(u.Key()))
		}
		if got := Parse(map[string]string{"mapUsers": text}).Users; !slices.Equal(got, want) {
			t.Errorf("users %q, the authenticator has %q", got, want)
		}
	})
}
