package sqlitebus_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain turns the binary into a consumer process when a test asks for one.
func TestMain(m *testing.M) {
	if path := os.Getenv("SQLITEBUS_CONSUME"); path != "" {
		if err := consume(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}
