package ledger_test

import (
	"reflect"
	"testing"
	"time"

	"rollcall/shared/ledger"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/ledgertest"
)

// What readers get of a cached record shares nothing, for each type of value that a State has.
func TestACachedValueIsCopiedWhole(t *testing.T) {
	tested := map[reflect.Type]bool{}
	owns[string](t, tested)
	owns[time.Time](t, tested)
	owns[[]time.Time](t, tested)
	owns[ledger.Finding](t, tested)
	owns[ledger.NotReady](t, tested)
	owns[ledger.Rest](t, tested)
	owns[ledger.Notice](t, tested)
	owns[ledger.Pressure](t, tested)
	owns[ledger.GroupMemory](t, tested)
	owns[*ledger.Trouble](t, tested)
	owns[*ledger.Outcome](t, tested)
	owns[ledger.Refusal](t, tested)
	owns[ledger.ApprovalRequest](t, tested)
	owns[ledger.Approval](t, tested)
	state := reflect.TypeFor[ledger.State]()
	for i := range state.NumField() {
		value := state.Field(i).Type
		if value.Kind() == reflect.Map {
			value = value.Elem()
		}
		acts := value == reflect.TypeFor[[]ledger.Action]() // made from their parts at each reading
		if value.Kind() != reflect.Int64 && !acts && !tested[value] {
			t.Errorf("%s: no test copies a %s", state.Field(i).Name, value)
		}
	}
}

func owns[V any](t *testing.T, tested map[reflect.Type]bool) {
	t.Helper()
	tested[reflect.TypeFor[V]()] = true
	v := ledgertest.Filled[V](t)
	shared := ledgertest.Shared(v, ledger.Own(v))
	expect.That(t, len(shared) == 0, "a copy of %T shares %q", v, shared)
}
