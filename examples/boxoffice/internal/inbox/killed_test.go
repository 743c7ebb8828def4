package inbox_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/inbox"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/sse"
)

// killedEnv makes this program the process that sends, on the database that it names.
const killedEnv = "MILLRACE_TEST_INBOX_SENDS"

// sendUntilKilled takes the lease, reports that, and hangs in its first send.
func sendUntilKilled(url string) error {
	ctx := context.Background()
	s, err := store.Open(ctx, url)
	if err != nil {
		return err
	}
	i, err := inbox.New(s, inbox.Config{Holder: "killed"})
	if err != nil {
		return err
	}
	i.SetSender(&wire{before: func(context.Context, string, sse.Event) error {
		fmt.Println("sending")
		select {}
	}})
	return i.Run(ctx)
}

// The sending process is killed with kill -9: later notifications wait for its lease
// and for the next look, which are three seconds together at most.
func TestAKilledSenderCostsThreeSeconds(t *testing.T) {
	const bound = 3 * time.Second
	o := newOffice(t, inbox.Config{Holder: "next"})
	o.reserved("ann", 1)
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), killedEnv+"="+o.URL)
	child.Stderr = os.Stderr
	says, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	line, err := bufio.NewReader(says).ReadString('\n')
	if err != nil || line != "sending\n" {
		t.Fatalf("the process that sends says %q, %v", line, err)
	}
	require.NoError(t, child.Process.Kill())
	_ = child.Wait() // it says that it was killed

	out := &wire{}
	o.inbox.SetSender(out)
	later := o.reserved("ann", 2)
	// By the database's clock, which is this machine's.
	left := time.Until(time.UnixMilli(int64(o.count(`SELECT expires_at FROM leases WHERE name = 'notification-send'`))))
	if left+inbox.SendLook > bound || left <= 0 {
		t.Errorf("the lease lasts %v after the kill, and who waits for it looks every %v: more than %v, or none", left, inbox.SendLook, bound)
	}
	o.run()
	if got := out.wait(t, 2); !slices.Equal(got, later) {
		t.Errorf("sent %v, want %v", got, later)
	}
}
