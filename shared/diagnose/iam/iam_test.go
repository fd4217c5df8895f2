package iam_test

import (
	"encoding/json"
	"testing"

	"rollcall/shared/diagnose/iam"
)

// IAM writes lists of one, of statements and of texts, as plain values.
func TestAListOfOneMayBeAPlainValue(t *testing.T) {
	type statement struct {
		Action    iam.Texts
		Principal json.RawMessage
	}
	for policy, want := range map[string]int{
		`{"Statement":[{"Action":"a"},{"Action":["a","b"]}]}`: 2,
		`{"Statement":{"Action":["a"]}}`:                      1,
		`{}`:                                                  -1,
		`{"Statement":"a"}`:                                   -1,
		`not JSON`:                                            -1,
	} {
		got, err := iam.Statements[statement](policy)
		if want < 0 && err == nil || want >= 0 && (err != nil || len(got) != want || got[0].Action[0] != "a") {
			t.Errorf("%s: %v, %v", policy, got, err)
		}
	}
	for principal, want := range map[string]bool{`"*"`: true, `{"AWS":"*"}`: true, `{"AWS":["x","*"]}`: true, `{"Service":"*"}`: false, `"x"`: false, `[]`: false} {
		if got := iam.Everybody(json.RawMessage(principal)); got != want {
			t.Errorf("%s is everybody: %v", principal, got)
		}
	}
}

func TestPatterns(t *testing.T) {
	for pattern, want := range map[string]bool{"*": true, "s3:*": true, "s3:Get?bject": true, "s3:Get": false, "s3:GetObject.": false} {
		if got := iam.Matches(pattern, "s3:GetObject"); got != want {
			t.Errorf("%s matches: %v", pattern, got)
		}
	}
}
