package bundle

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
)

// plain returns the file's text in UTF-8 without a byte order mark. PowerShell 5 writes UTF-16 with
// > or Out-File, with or without a mark.
// https://learn.microsoft.com/powershell/module/microsoft.powershell.core/about/about_character_encoding
func plain(data []byte) []byte {
	switch {
	case bytes.HasPrefix(data, []byte{0xef, 0xbb, 0xbf}):
		return data[3:]
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		return fromUTF16(data[2:], binary.LittleEndian)
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		return fromUTF16(data[2:], binary.BigEndian)
	case len(data) > 1 && data[0] != 0 && data[1] == 0:
		return fromUTF16(data, binary.LittleEndian)
	case len(data) > 1 && data[0] == 0 && data[1] != 0:
		return fromUTF16(data, binary.BigEndian)
	}
	return data
}

func fromUTF16(data []byte, order binary.ByteOrder) []byte {
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = order.Uint16(data[2*i:])
	}
	return []byte(string(utf16.Decode(units)))
}
