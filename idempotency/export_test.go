package idempotency

// ParseKey is parseKey.
func ParseKey(value string) (string, error) { return parseKey(value) }
