package ledger

import (
	"encoding"
	"fmt"
	"strings"
)

// keyText returns a key as one string for a sort key, without an empty last field.
func keyText(key any) string {
	if k, ok := key.(encoding.TextMarshaler); ok {
		text, _ := k.MarshalText() // never fails
		return strings.TrimSuffix(string(text), "#")
	}
	return fmt.Sprint(key)
}

// cut splits a key into fields. Only the first may contain a #.
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

// MarshalText implements encoding.TextMarshaler, for keys of JSON objects.
func (k SpotKey) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%s#%s", k.Instance, k.Event), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *SpotKey) UnmarshalText(text []byte) error {
	return cut(text, (*string)(&k.Instance), (*string)(&k.Event))
}

// MarshalText implements encoding.TextMarshaler, for keys of JSON objects.
func (k RefusalKey) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%s#%s", k.Order, k.Reason), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *RefusalKey) UnmarshalText(text []byte) error { return cut(text, &k.Order, &k.Reason) }

// MarshalText implements encoding.TextMarshaler, for keys of JSON objects.
func (k NoticeKey) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%s#%s#%s", k.Group, k.Kind, k.Cause), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *NoticeKey) UnmarshalText(text []byte) error {
	return cut(text, (*string)(&k.Group), (*string)(&k.Kind), &k.Cause)
}
