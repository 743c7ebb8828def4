package amqpbus_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/servicetest"
)

// node is a RabbitMQ of this test binary, which tests may restart and kill.
type node struct {
	script, url, host string
}

const rabbitServer = "/usr/lib/rabbitmq/bin/rabbitmq-server"

var own struct {
	once sync.Once
	node *node
	dir  string
	err  error
}

// ownNode starts the node, once for all tests; TestMain stops it.
func ownNode(t testing.TB) *node {
	t.Helper()
	if !canStart() {
		servicetest.Missing(t, "needs a RabbitMQ of its own to restart: install the package rabbitmq-server")
	}
	own.once.Do(func() { own.node, own.dir, own.err = startNode() })
	require.NoError(t, own.err)
	return own.node
}

func canStart() bool {
	_, err := os.Stat(rabbitServer)
	return err == nil
}

func startNode() (_ *node, dir string, err error) {
	// Not t.TempDir: the folder outlives the test, and RabbitMQ's user needs access to it.
	if dir, err = os.MkdirTemp("", "amqpbus"); err != nil {
		return nil, "", err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, dir, err
	}
	var ports []string
	for range 3 {
		port, err := freePort()
		if err != nil {
			return nil, dir, err
		}
		ports = append(ports, strconv.Itoa(port))
	}
	become := ""
	if os.Geteuid() == 0 {
		u, err := user.Lookup("rabbitmq")
		if err != nil {
			return nil, dir, err
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		if err := os.Chown(dir, uid, gid); err != nil {
			return nil, dir, err
		}
		become = "runuser -u rabbitmq --"
	}
	n := &node{
		script: filepath.Join(dir, "node.sh"),
		host:   "127.0.0.1:" + ports[0],
		url:    "amqp://millrace:millrace@127.0.0.1:" + ports[0] + "/",
	}
	text := strings.NewReplacer("$DIR", dir, "$PORT", ports[0], "$DIST", ports[1], "$EPMD", ports[2],
		"$BECOME", become, "$SERVER", rabbitServer).Replace(nodeScript)
	if err := os.WriteFile(n.script, []byte(text), 0o755); err != nil {
		return nil, dir, err
	}
	return n, dir, n.run("start")
}

// nodeScript starts, stops and kills the node; TestReconnect runs its restart.
const nodeScript = `#!/usr/bin/env bash
set -eu
exec 9>>$DIR/lock
flock 9
alive() { [ -s $DIR/pid ] && kill -0 "$(cat $DIR/pid)" 2>/dev/null; }
answers() { (exec 3<>/dev/tcp/127.0.0.1/$PORT) 2>/dev/null; }
start() {
	printf '%s\n' 'listeners.tcp.default = 127.0.0.1:$PORT' 'default_user = millrace' 'default_pass = millrace' \
		'loopback_users = none' 'vm_memory_high_watermark.relative = 0.8' 'max_message_size = 32768' >$DIR/rabbitmq.conf
	echo '[].' >$DIR/plugins
	setsid $BECOME env HOME=$DIR ERL_EPMD_ADDRESS=127.0.0.1 ERL_EPMD_PORT=$EPMD \
		RABBITMQ_NODENAME=amqpbus$PORT@localhost RABBITMQ_NODE_IP_ADDRESS=127.0.0.1 RABBITMQ_NODE_PORT=$PORT \
		RABBITMQ_DIST_PORT=$DIST RABBITMQ_MNESIA_BASE=$DIR/data RABBITMQ_LOG_BASE=$DIR/log \
		RABBITMQ_CONFIG_FILE=$DIR/rabbitmq.conf RABBITMQ_ENABLED_PLUGINS_FILE=$DIR/plugins \
		RABBITMQ_PID_FILE=$DIR/pid RABBITMQ_CONF_ENV_FILE=/dev/null \
		RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS='-kernel inet_dist_use_interface {127,0,0,1}' \
		$SERVER >>$DIR/out 2>&1 9>&- </dev/null &
	for _ in $(seq 600); do
		if alive && answers; then return; fi
		sleep 0.1
	done
	tail -n 30 $DIR/out >&2
	exit 1
}
stop() {
	alive || return 0
	kill -"$1" "$(cat $DIR/pid)"
	while alive; do sleep 0.05; done
	rm -f $DIR/pid
}
case $1 in
start) start ;;
stop) stop TERM ;;
restart) stop TERM; start ;;
crash) stop KILL; start ;;
end)
	stop KILL
	ERL_EPMD_PORT=$EPMD epmd -kill >/dev/null 2>&1 || true
	;;
esac
`

func (n *node) run(action string) error {
	out, err := exec.Command(n.script, action).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s the node: %w\n%s", action, err, out)
	}
	return nil
}

// do runs an action and returns how long it took.
func (n *node) do(t testing.TB, action string) time.Duration {
	t.Helper()
	start := time.Now()
	require.NoError(t, n.run(action))
	return time.Since(start)
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close() //nolint:errcheck // its port was all that was wanted
	return l.Addr().(*net.TCPAddr).Port, nil
}

// stopNode ends the node of this binary, if there is one.
func stopNode() {
	if own.node != nil {
		if err := own.node.run("end"); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	if own.dir != "" {
		os.RemoveAll(own.dir) //nolint:errcheck // a temporary folder
	}
}
