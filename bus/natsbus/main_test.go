package natsbus_test

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"go.uber.org/goleak"
)

// TestMain makes the binary a NATS server where a test asks for one that it can kill.
func TestMain(m *testing.M) {
	if dir := os.Getenv(envServer); dir != "" {
		if err := serve(dir, os.Getenv(envPort)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

const (
	envServer = "NATSBUS_SERVER" // the folder of its streams
	envPort   = "NATSBUS_PORT"
)

// serve is a NATS server until the process is told to end.
func serve(dir, port string) error {
	n, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: n, JetStream: true, StoreDir: dir, NoLog: true, NoSigs: true})
	if err != nil {
		return err
	}
	s.Start()
	if !s.ReadyForConnections(30 * time.Second) {
		return fmt.Errorf("no server on port %d", n)
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	<-end
	s.Shutdown()
	s.WaitForShutdown()
	return nil
}
