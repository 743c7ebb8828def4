package browsertest

import (
	"flag"
	"fmt"
	"os"
	"strconv"
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

// together is how many tests run in parallel: a test waits for a page, or for its
// clock, most of its time, and other packages are tested at the same time.
const together = 2

func TestMain(m *testing.M) {
	flag.Parse()
	if err := runTogether(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	code := m.Run()
	if chromium.Close() && (wanted || code != 0) {
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

// runTogether sets -parallel, unless the command line does.
func runTogether() error {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return nil
	}
	return flag.Set("test.parallel", strconv.Itoa(together))
}
