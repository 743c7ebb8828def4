package jsonmap

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func same(t *testing.T, m map[string]string) {
	t.Helper()
	want, err := json.Marshal(m)
	require.NoError(t, err)
	if got := Encode(m); got != string(want) {
		t.Errorf("%q is %s, and in encoding/json %s", m, got, want)
	}
}

func TestEncode(t *testing.T) {
	many := map[string]string{}
	for i := range 3 * few {
		many[fmt.Sprint(i)] = fmt.Sprint(i, "\n")
	}
	for _, m := range []map[string]string{
		{}, {"": ""}, {"b": "1", "a": "2", "B": "3"}, many,
		{"a\"\\\x00\x1f\x7f/": "<&>  é \xff \U0001f600"},
	} {
		same(t, m)
	}
	assert.Equal(t, `{"a":"1","z":"3"}`, Encode(map[string]string{"a": "1", "key": "2", "z": "3"}, "key"), "without key")
}

func FuzzEncode(f *testing.F) {
	f.Add("ce_type", "SeatHeld", "ce_id", "\xff")
	f.Add("a", "<", "a", "\"")
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		same(t, map[string]string{a: b, c: d})
	})
}

func BenchmarkEncode(b *testing.B) {
	m := map[string]string{
		"ce_id": "0198c0de-0000-7000-8000-000000000001", "ce_type": "SeatHeld", "ce_source": "orders", "ce_specversion": "1.0",
		"ce_time": "2026-01-02T03:04:05.678901Z", "ce_partitionkey": "seat-17", "content-type": "application/json",
	}
	b.Run("ours", func(b *testing.B) {
		for range b.N {
			Encode(m)
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		for range b.N {
			json.Marshal(m) //nolint:errcheck // it is measured
		}
	})
}
