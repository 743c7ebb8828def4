package idempotencytest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"github.com/millrace-go/millrace/idempotency/driver"
)

func keyCases() []testCase {
	return []testCase{
		{Name: "empty-key", Run: emptyKey},
		{Name: "long-keys", Run: longKeys},
		{Name: "odd-keys", Run: oddKeys},
	}
}

func emptyKey(ctx context.Context, h Harness) error {
	_, err := h.Store.Once(ctx, record(""), func(context.Context) error {
		return errors.New("the handler ran without a key")
	})
	if !errors.Is(err, driver.ErrEmptyKey) {
		return fmt.Errorf("Once with an empty key: %w; want ErrEmptyKey", orNil(err))
	}
	if _, err := h.Store.Seen(ctx, ""); !errors.Is(err, driver.ErrEmptyKey) {
		return fmt.Errorf("Seen with an empty key: %w; want ErrEmptyKey", orNil(err))
	}
	return nil
}

// distinct checks that all keys are different effects, and that each key is a duplicate only of
// itself.
func distinct(ctx context.Context, h Harness, keys []string) error {
	for i, key := range keys {
		if seen, err := h.Store.Seen(ctx, key); seen || err != nil {
			return fmt.Errorf("key %d (%d bytes, %.40q) before its delivery: recorded %v, %w", i, len(key), key, seen, orNil(err))
		}
		for _, want := range []bool{true, false} {
			if err := once(ctx, fmt.Sprintf("key %d (%d bytes, %.40q)", i, len(key), key), h.Store, key, want, nothing); err != nil {
				return err
			}
		}
		if seen, err := h.Store.Seen(ctx, key); !seen || err != nil {
			return fmt.Errorf("key %d (%d bytes, %.40q) after its delivery: recorded %v, %w", i, len(key), key, seen, orNil(err))
		}
	}
	return nil
}

// longKeys differ in their last byte only, or are crafted. PostgreSQL cannot index 10,000 bytes that do not
// compress.
func longKeys(ctx context.Context, h Harness) error { return distinct(ctx, h, long()) }

func long() (keys []string) {
	for _, n := range []int{64, 190, 191, 192, 254, 255, 256, 768, 3000, 10_000} {
		long := "group:" + noise(n-len("group:")-1)
		keys = append(keys, long+"a", long+"b")
	}
	for _, long := range []string{"group:" + noise(300), "group:" + strings.Repeat("한", 200)} {
		keys = append(keys, long, shortened(long), "group:"+shortened(long[len("group:"):]))
	}
	return keys
}

// shortened is the name by which a store may keep a long key: as a key it is another one.
func shortened(long string) string {
	return strings.ToValidUTF8(long[:190], "") + fmt.Sprintf("~%x", sha256.Sum256([]byte(long)))
}

func oddKeys(ctx context.Context, h Harness) error {
	return distinct(ctx, h, odd())
}

func odd() []string {
	return []string{
		"group:a", "group:A", "group:a ", "group: a", "GROUP:a", "group:a:b", "other:a",
		"group:it's", `group:"quoted"`, `group:back\slash`, "group:100%", "group:a_b", "group:$1", "group:?1",
		"group:é", "group:e\u0301", "group:한글", "group:🎟", "group:tab\there", "group:line\nbreak",
		"group:nul\x00a", "group:nul\x00b", "group:broken\xffa", "group:broken\xfea",
		"group:" + strings.Repeat("한", 200) + "a", "group:" + strings.Repeat("한", 200) + "b",
		"group:{tag}a", "group:<&>", "group:\u2028", "group:[1,2]",
	}
}

// noise returns n letters that do not compress, the same every time.
func noise(n int) string {
	var b strings.Builder
	state := uint32(2463534242)
	for range n {
		// Marsaglia's xorshift; quality does not matter here.
		state ^= state << 13
		state ^= state >> 17
		state ^= state << 5
		b.WriteByte('a' + byte(state%26))
	}
	return b.String()
}
