package demo

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"rollcall/shared/report/page"
	"rollcall/shared/sim"
)

// comparison returns the day beside the same day in mode observe.
func (s *story) comparison(r, untended sim.Result) page.Table {
	t := page.Table{
		Title:   "The day, and the same day in mode observe",
		Caption: "Both have the same faults, and owners that act as usual.",
		Columns: []page.Column{{Name: "What"}, {Name: "mode " + s.day.Permitted, Numbers: true}, {Name: "mode observe", Numbers: true}, {Name: "Which is"}},
	}
	for _, row := range []struct {
		name string
		of   func(sim.Result) string
		is   string
	}{
		{"instances were sick for", func(r sim.Result) string { return hours(r.Cost.SickHours) }, "from its first fault, or a launch that failed, until it was healthy or terminated"},
		{"paid for sick instances", func(r sim.Result) string { return dollars(r.Cost.Wasted) }, "at on-demand prices, while they ran and did no work"},
		{"paid for all instances", func(r sim.Result) string { return dollars(r.Cost.Machines) }, ""},
		{"nodes, in hours", func(r sim.Result) string { return fmt.Sprintf("%.0f", r.NodeHours) }, "all nodes, ready or not"},
		{"instances launched", func(r sim.Result) string { return fmt.Sprint(r.Counts[sim.EventLaunch]) }, "most replace instances that broken templates and roles kept from joining"},
		{"instances terminated", func(r sim.Result) string { return fmt.Sprint(r.Counts[sim.EventEnd]) }, "by owners, Rollcall, and people at the end of the day"},
		{"notices", func(r sim.Result) string { return fmt.Sprint(r.Counts[sim.EventNotice]) }, "mode observe sends none"},
		{"Rollcall's own cost", func(r sim.Result) string { return dollars(ownCost(r.Usage)) }, "at list prices, as below"},
		{"rules broken", func(r sim.Result) string { return fmt.Sprint(len(r.Violations)) }, "of those that must never be: no act without a record, none after one check, ..."},
	} {
		t.Rows = append(t.Rows, []string{row.name, row.of(r), row.of(untended), row.is})
	}
	return t
}

// own returns Rollcall's own use of the account.
func (s *story) own(u sim.Usage) page.Table {
	t := page.Table{
		Title:   "What Rollcall used of the account",
		Caption: fmt.Sprintf("%s; %s at list prices.", s.usage(u), dollars(ownCost(u))),
		Columns: []page.Column{{Name: "Service"}, {Name: "Calls", Numbers: true}, {Name: "that write", Numbers: true}, {Name: "Operations"}},
	}
	var functions []string
	for _, name := range slices.Sorted(maps.Keys(u.Invocations)) {
		functions = append(functions, fmt.Sprintf("%s %d", name, u.Invocations[name]))
	}
	t.Rows = append(t.Rows, []string{"invocations", fmt.Sprint(total(u.Invocations)), "", strings.Join(functions, ", ")})
	calls, writes, services := map[string]int{}, map[string]int{}, map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(u.Calls)) {
		service, operation, _ := strings.Cut(name, ":")
		calls[service] += u.Calls[name]
		if !reads(operation) {
			writes[service] += u.Calls[name]
		}
		services[service] = append(services[service], fmt.Sprintf("%s %d", operation, u.Calls[name]))
	}
	for _, service := range slices.Sorted(maps.Keys(calls)) {
		t.Rows = append(t.Rows, []string{service, fmt.Sprint(calls[service]), fmt.Sprint(writes[service]), strings.Join(services[service], ", ")})
	}
	return t
}

func reads(operation string) bool {
	return slices.ContainsFunc([]string{"Describe", "Get", "List", "Query", "get", "list"}, func(verb string) bool { return strings.HasPrefix(operation, verb) })
}
