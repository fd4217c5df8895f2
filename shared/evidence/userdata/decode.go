package userdata

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	// MaxRaw is the maximum size of user data that EC2 keeps for an instance, in bytes before
	// base64 ("limited to 16 KB, in raw form", EC2 User Guide).
	MaxRaw = 16 << 10
	// MaxText is the maximum number of bytes read after decompression, over all parts.
	MaxText = 1 << 20
)

// ErrTooLarge is returned by Decode for more data than EC2 would keep.
var ErrTooLarge = fmt.Errorf("user data is larger than the %d bytes that EC2 keeps", MaxRaw)

// Decode decodes the base64 in which ec2:DescribeInstanceAttribute and
// ec2:DescribeLaunchTemplateVersions return user data. White space is ignored. The error never
// quotes the text.
func Decode(s string) ([]byte, error) {
	// Encoders break lines after 64 characters at the shortest.
	if len(s) > base64.StdEncoding.EncodedLen(MaxRaw)*66/64+2 {
		return nil, ErrTooLarge
	}
	data, ok := decodeBase64(s)
	if !ok {
		return nil, errors.New("user data is not valid base64")
	}
	if len(data) > MaxRaw {
		return nil, ErrTooLarge
	}
	return data, nil
}

func decodeBase64(s string) ([]byte, bool) {
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(s), ""))
	return data, err == nil
}

// inflate decompresses data if it is gzip, and subtracts the size from the remaining room.
func (r *reader) inflate(data []byte) ([]byte, Reason) {
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		zr, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, Undecodable
		}
		data, err = io.ReadAll(io.LimitReader(zr, int64(r.room)+1))
		if err != nil && len(data) <= r.room {
			return nil, Undecodable
		}
	}
	if len(data) > r.room {
		return nil, TooLarge
	}
	r.room -= len(data)
	return data, ""
}
