package emftest

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

var now = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

const good = `{"_aws":{"Timestamp":1773144000000,"CloudWatchMetrics":[{"Namespace":"N","Dimensions":[[],["A"],["A","B"]],"Metrics":[{"Name":"x","Unit":"Count"},{"Name":"y"}]}]},"A":"a","B":"b","x":1,"y":[1,2.5],"more":{"is":"fine"}}`

func TestWhatTheSpecificationAllows(t *testing.T) {
	data, err := Read([]byte(good), now)
	if err != nil || len(data) != 6 {
		t.Fatalf("%v: %+v", err, data)
	}
	if d := data[5]; !d.Is("y", "A", "a", "B", "b") || d.Is("y", "A", "a") || d.Is("y", "A", "a", "B", "c") || d.Unit != "None" || len(d.Values) != 2 {
		t.Errorf("%+v", d)
	}
	if data, err := Read([]byte(`{"level":"INFO","msg":"checked"}`), now); err != nil || data != nil {
		t.Errorf("a line of another sort: %v, %v", data, err)
	}
}

func TestWhatTheSpecificationForbids(t *testing.T) {
	many := func(n int, each string) string { return strings.TrimSuffix(strings.Repeat(each+",", n), ",") }
	var sets, values []string
	for i := range 31 {
		sets, values = append(sets, fmt.Sprintf(`"D%d"`, i)), append(values, fmt.Sprintf(`"D%d":"d"`, i))
	}
	for name, change := range map[string][]string{
		"no JSON":                     {`{"_aws"`, `"_aws"`},
		"something behind it":         {`"more":{"is":"fine"}}`, `"more":{}} x`},
		"no timestamp":                {`"Timestamp":1773144000000,`, ``},
		"a timestamp that is a text":  {`1773144000000`, `"1773144000000"`},
		"a timestamp with a fraction": {`1773144000000`, `1773144000000.5`},
		"seconds":                     {`1773144000000`, `1773144000`},
		"three hours ahead":           {`1773144000000`, `1773154800000`},
		"fifteen days ago":            {`1773144000000`, `1771848000000`},
		"another member":              {`{"Namespace"`, `{"Properties":[],"Namespace"`},
		"no namespace":                {`"Namespace":"N",`, ``},
		"an empty namespace":          {`"N"`, `""`},
		"a namespace of CloudWatch's": {`"N"`, `":N"`},
		"no sets":                     {`[[],["A"],["A","B"]]`, `[]`},
		"dimensions that are no sets": {`[[],["A"],["A","B"]]`, `["A"]`},
		"a set twice":                 {`["A","B"]]`, `["A","B"],["B","A"]]`},
		"a dimension twice":           {`["A","B"]]`, `["A","A"]]`},
		"31 dimensions":               {`["A"]`, `[` + strings.Join(sets, ",") + `]`, `"A":"a"`, `"A":"a",` + strings.Join(values, ",")},
		"a dimension without a value": {`"B":"b",`, ``},
		"a dimension that is nested":  {`"B":"b"`, `"B":{"b":"b"}`},
		"a dimension of a number":     {`"B":"b"`, `"B":1`},
		"an empty dimension":          {`"B":"b"`, `"B":""`},
		"a blank dimension":           {`"B":"b"`, `"B":"  "`},
		"a dimension not in ASCII":    {`"B":"b"`, `"B":"é"`},
		"a dimension with a tab":      {`"B":"b"`, `"B":"a\tb"`},
		"a long dimension":            {`"B":"b"`, `"B":"` + strings.Repeat("b", 1025) + `"`},
		"no metrics":                  {`[{"Name":"x","Unit":"Count"},{"Name":"y"}]`, `[]`},
		"a metric without a name":     {`{"Name":"y"}`, `{"Unit":"Count"}`},
		"a metric twice":              {`{"Name":"y"}`, `{"Name":"x"}`},
		"a long name":                 {`{"Name":"y"}`, `{"Name":"` + strings.Repeat("y", 256) + `"}`, `"y":`, `"` + strings.Repeat("y", 256) + `":`},
		"101 metrics":                 {`{"Name":"y"}`, many(100, `{"Name":"y"}`)},
		"no such unit":                {`"Count"`, `"count"`},
		"a storage resolution":        {`{"Name":"y"}`, `{"Name":"y","StorageResolution":5}`},
		"a metric without a value":    {`"x":1,`, ``},
		"a metric of text":            {`"x":1,`, `"x":"1",`},
		"a metric that is null":       {`"x":1,`, `"x":null,`},
		"no values":                   {`[1,2.5]`, `[]`},
		"a value that is null":        {`[1,2.5]`, `[1,null]`},
		"values of values":            {`[1,2.5]`, `[[1]]`},
		"101 values":                  {`[1,2.5]`, `[` + many(101, "1") + `]`},
		"a value too large":           {`"x":1,`, `"x":1e109,`},
	} {
		line := strings.NewReplacer(change...).Replace(good)
		if line == good {
			t.Errorf("%s: nothing changed", name)
		}
		if data, err := Read([]byte(line), now); err == nil {
			t.Errorf("%s passes: %+v", name, data)
		}
	}
	for name, change := range map[string][]string{
		"100 values":        {`[1,2.5]`, `[` + many(100, "1") + `]`},
		"a long dimension":  {`"B":"b"`, `"B":"` + strings.Repeat("b", 1024) + `"`},
		"one hour ahead":    {`1773144000000`, `1773147600000`},
		"an empty set only": {`[[],["A"],["A","B"]]`, `[[]]`},
		"zero":              {`"x":1,`, `"x":0,`},
	} {
		if _, err := Read([]byte(strings.NewReplacer(change...).Replace(good)), now); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheWriterTellsOfABadLine(t *testing.T) {
	w := &Writer{Now: func() time.Time { return now }}
	if _, err := w.Write([]byte(good + "\n" + good + "\n")); err != nil || w.Sum("y", "A", "a") != 7 || w.Sum("x") != 2 || w.Sum("x", "B", "b") != 0 {
		t.Errorf("%v: %+v", err, w.Data)
	}
	if _, err := w.Write([]byte(strings.Replace(good, `"x":1,`, "", 1) + "\n")); err == nil {
		t.Error("a bad line passes")
	}
}
