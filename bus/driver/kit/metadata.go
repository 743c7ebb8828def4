package kit

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/millrace-go/millrace/internal/jsonmap"
)

// EncodeMetadata writes metadata as a JSON object, for a server that has no other form for it. It
// refuses metadata that is not UTF-8, whose bytes JSON would silently replace.
func EncodeMetadata(metadata map[string]string) (string, error) {
	for name, value := range metadata {
		if !utf8.ValidString(name) || !utf8.ValidString(value) {
			return "", fmt.Errorf("the metadata %q is not UTF-8", name)
		}
	}
	return jsonmap.Encode(metadata), nil
}

// DecodeMetadata reads the result of [EncodeMetadata]. With an error it returns what it could read.
func DecodeMetadata(text string) (metadata map[string]string, err error) {
	if err = json.Unmarshal([]byte(text), &metadata); err != nil {
		err = fmt.Errorf("the metadata is no JSON object of strings: %w", err)
	}
	return metadata, err
}
