package browsertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/launch"
)

// built is the folder that holds the program, once it was built.
var built string

// program builds the box office once.
var program = sync.OnceValues(func() (path string, err error) {
	if built, err = os.MkdirTemp("", "boxoffice-program-"); err != nil {
		return "", err
	}
	path = filepath.Join(built, "boxoffice")
	build := exec.Command("go", "build", "-o", path, "github.com/millrace-go/millrace/examples/boxoffice")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

// office is a box office as people run it: its own process on a fresh data
// folder, and beside it the payment gateway, which no kill of the box office
// touches.
type office struct {
	launch.Office
	t       *testing.T
	addr    string
	process *launch.Process
}

// startOffice starts one for a test, which runs in parallel from here on.
func startOffice(t *testing.T) *office {
	t.Helper()
	t.Parallel()
	chromium.Context(t) // skip before anything is built
	path, err := program()
	require.NoError(t, err)
	o := &office{t: t, Office: launch.Office{Program: path, Dir: t.TempDir(), Admin: launch.NewAdminToken()}}
	gateway, err := o.StartGateway(context.Background())
	require.NoError(t, err)
	t.Cleanup(func() { gateway.Kill() })
	if o.addr, err = launch.FreeAddr(); err != nil {
		t.Fatal(err)
	}
	o.start()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the box office printed at last:\n%s", o.process.Tail())
		}
		o.process.Kill()
	})
	return o
}

func (o *office) start() {
	o.t.Helper()
	process, err := o.StartServe(context.Background(), "boxoffice", "all", o.addr, 30*time.Second, nil)
	if err != nil {
		o.t.Fatal(err)
	}
	o.process = process
}

func (o *office) url() string { return "http://" + o.addr }
