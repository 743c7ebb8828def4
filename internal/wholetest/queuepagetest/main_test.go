package queuepagetest

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/chromiumtest"
)

// chromium is the browser of all tests; each tab has a profile of its own inside it.
var chromium chromiumtest.Browser

func TestMain(m *testing.M) {
	code := m.Run()
	chromium.Close()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}
