package ledger

import (
	"encoding"
	"fmt"
	"strings"
)

// keyText is a key as one text, as sort keys have it: empty fields at its end are left out.
func keyText(key any) string {
	if k, ok := key.(encoding.TextMarshaler); ok {
		text, _ := k.MarshalText() // no key of a record fails
		return strings.TrimSuffix(string(text), "#")
	}
	return fmt.Sprint(key)
}

// cut splits the text of a key into fields. The first may contain a #, the others do not.
func cut(text []byte, fields ...*string) error {
	rest := string(text)
	for i := len(fields) - 1; i > 0; i-- {
		at := strings.LastIndex(rest, "#")
		if at < 0 {
			return fmt.Errorf("the key %q has too few parts", text)
		}
		rest, *fields[i] = rest[:at], rest[at+1:]
	}
	*fields[0] = rest
	return nil
}

// MarshalText makes a SpotKey the key of a JSON object.
func (k SpotKey) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%s#%s", k.Instance, k.Event), nil
}

// UnmarshalText reads what MarshalText wrote.
func (k *SpotKey) UnmarshalText(text []byte) error {
	return cut(text, (*string)(&k.Instance), (*string)(&k.Event))
}

// MarshalText makes a RefusalKey the key of a JSON object.
func (k RefusalKey) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%s#%s", k.Order, k.Reason), nil
}

// UnmarshalText reads what MarshalText wrote.
func (k *RefusalKey) UnmarshalText(text []byte) error { return cut(text, &k.Order, &k.Reason) }

// MarshalText makes a NoticeKey the key of a JSON object.
func (k NoticeKey) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%s#%s#%s", k.Group, k.Kind, k.Cause), nil
}

// UnmarshalText reads what MarshalText wrote.
func (k *NoticeKey) UnmarshalText(text []byte) error {
	return cut(text, (*string)(&k.Group), (*string)(&k.Kind), &k.Cause)
}
