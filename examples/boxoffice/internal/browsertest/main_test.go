package browsertest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/chromiumtest"
)

// chromium is the browser of all tests; each gets a profile of its own inside it.
var chromium chromiumtest.Browser

// patience is how long a page may take to reach a state. It is generous: the
// tests run beside others on small machines.
const patience = 40 * time.Second

func TestMain(m *testing.M) {
	code := m.Run()
	if chromium.Close() {
		fmt.Println("screenshots:", pictures())
	}
	if built != "" {
		if err := os.RemoveAll(built); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}
