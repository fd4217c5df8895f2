package dynamo

import (
	"testing"

	"rollcall/shared/ledger"
	"rollcall/tests/harness/ledgertest"
)

func TestContract(t *testing.T) {
	ledgertest.Contract(t, "dynamo", func(t *testing.T) func() ledger.Ledger {
		tb := newTable(t)
		return func() ledger.Ledger { return ledger.NewDynamo(&wire{client: tb.client}, tb.name) }
	})
}
