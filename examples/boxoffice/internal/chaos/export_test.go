package chaos

import (
	"context"
	"io"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/demo/screen"
)

// Died is what a process prints before it kills itself.
const Died = died

// DieChild is the child process of TestDieIsSIGKILL.
func DieChild() { dieChild() }

// Run runs chaos with a program of the test's choice and lives of one length.
func Run(ctx context.Context, program string, prefix []string, kills, relayKills int, alive time.Duration, stdout, stderr io.Writer) int {
	return run(ctx, config{
		kills: kills, relayKills: relayKills, concurrency: 8, seed: 5, minAlive: alive, maxAlive: alive,
		hold: 2 * time.Second, patience: time.Minute, drain: time.Minute, program: program, prefix: prefix,
	}, screen.New(stdout, true), stderr)
}
