package natsbus_test

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"go.uber.org/goleak"
)

// TestMain runs the binary as a NATS server when a test asks for one that it can kill.
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
	envName   = "NATSBUS_NAME"   // in a cluster
	envRoutes = "NATSBUS_ROUTES" // the ports of the cluster's servers, its own first
)

// serve runs a NATS server until the process receives SIGTERM.
func serve(dir, port string) error {
	n, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	o := &server.Options{Host: "127.0.0.1", Port: n, JetStream: true, StoreDir: dir, NoLog: true, NoSigs: true, ServerName: os.Getenv(envName)}
	for i, port := range strings.Fields(os.Getenv(envRoutes)) {
		n, err := strconv.Atoi(port)
		if err != nil {
			return err
		}
		if i == 0 {
			o.Cluster = server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: n}
		}
		o.Routes = append(o.Routes, &url.URL{Scheme: "nats", Host: net.JoinHostPort("127.0.0.1", port)})
	}
	s, err := server.NewServer(o)
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
