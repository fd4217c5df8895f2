package evidence

import (
	"testing"

	"rollcall/tests/harness/expect"
)

func TestWhatARequirementAllows(t *testing.T) {
	for _, tt := range []struct {
		operator string
		values   []string
		value    string
		want     bool
	}{
		{"In", []string{"arm64", "amd64"}, "arm64", true},
		{"In", []string{"arm64"}, "amd64", false},
		{"In", nil, "amd64", false},
		{"NotIn", []string{"arm64"}, "amd64", true},
		{"NotIn", []string{"arm64"}, "arm64", false},
		{"Exists", nil, "x", true},
		{"Exists", nil, "", true},
		{"DoesNotExist", nil, "x", false},
		{"Gt", []string{"4"}, "5", true},
		{"Gt", []string{"4"}, "4", false},
		{"Gte", []string{"4"}, "4", true},
		{"Lt", []string{"4"}, "3", true},
		{"Lt", []string{"4"}, "4", false},
		{"Lte", []string{"4"}, "4", true},
		{"Lte", []string{"4"}, "5", false},
		{"Gt", []string{"4"}, "many", false},
		{"Gt", []string{"many"}, "4", true},
		{"Gt", nil, "4", true},
		{"Near", []string{"4"}, "9", true},
	} {
		r := Requirement{Key: "k", Operator: tt.operator, Values: tt.values}
		expect.Equal(t, r.Allows(tt.value), tt.want, "%s allows %q", r, tt.value)
	}
}
