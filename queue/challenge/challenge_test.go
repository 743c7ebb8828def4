package challenge_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/challenger"
	"github.com/millrace-go/millrace/queue/challenge"
	"github.com/millrace-go/millrace/queue/token"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// buckets are a Taker whose keys have a burst, and it comes back as a whole.
type buckets map[string]*struct {
	left int
	back time.Time
}

func (b buckets) Take(_ context.Context, key string, every time.Duration, burst int) time.Duration {
	k := b[key]
	if k == nil || !time.Now().Before(k.back) {
		k = &struct {
			left int
			back time.Time
		}{burst, time.Now().Add(every * time.Duration(burst))}
		b[key] = k
	}
	if k.left == 0 {
		return time.Until(k.back)
	}
	k.left--
	return 0
}

func ring(t testing.TB) *token.Ring {
	t.Helper()
	r, err := token.NewRing(strings.Repeat("s", 32))
	require.NoError(t, err)
	return r
}

func open(t testing.TB, change func(*challenger.Config)) *challenger.Challenger {
	t.Helper()
	cfg := challenger.Config{Keys: ring(t), Limiter: buckets{}, Bits: 4}
	if change != nil {
		change(&cfg)
	}
	c, err := challenger.New(cfg)
	require.NoError(t, err)
	return c
}

type question struct {
	Puzzle, Seed       string
	Bits, Proofs, Wait int
}

func ask(t testing.TB, c *challenger.Challenger, event, user string) (q question) {
	t.Helper()
	require.NoError(t, json.Unmarshal(c.Question(event, user), &q))
	return q
}

// solve works as package challenge describes it.
func solve(t testing.TB, q question) string {
	t.Helper()
	seed, err := hex.DecodeString(q.Seed)
	require.NoError(t, err)
	var numbers []string
	for i := range uint32(q.Proofs) {
		for n := uint32(0); ; n++ {
			block := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(append([]byte{}, seed...), i), n)
			sum := sha256.Sum256(block)
			if bits.LeadingZeros32(binary.BigEndian.Uint32(sum[:])) >= q.Bits {
				numbers = append(numbers, fmt.Sprint(n))
				break
			}
		}
	}
	return "work." + q.Puzzle + "." + strings.Join(numbers, ",")
}

func TestProofIsBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, nil)
		answer := solve(t, ask(t, c, "show", "alice"))
		require.ErrorIs(t, c.Check(t.Context(), "show", "bob", answer), challenger.ErrWrong)
		require.ErrorIs(t, c.Check(t.Context(), "other", "alice", answer), challenger.ErrWrong)
		require.NoError(t, c.Check(t.Context(), "show", "alice", answer))
		answer = solve(t, ask(t, c, "show", "alice"))
		time.Sleep(3*time.Minute + time.Second)
		require.ErrorIs(t, c.Check(t.Context(), "show", "alice", answer), challenger.ErrWrong)
		answer = solve(t, ask(t, c, "show", "alice"))
		time.Sleep(3 * time.Minute)
		require.NoError(t, c.Check(t.Context(), "show", "alice", answer))
	})
}

// Two challenges with one limiter are two processes.
func TestProofIsUsedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := buckets{}
		one := open(t, func(cfg *challenger.Config) { cfg.Limiter = shared })
		other := open(t, func(cfg *challenger.Config) { cfg.Limiter = shared })
		answer := solve(t, ask(t, one, "show", "alice"))
		require.NoError(t, other.Check(t.Context(), "show", "alice", answer))
		for range 5 {
			require.ErrorIs(t, one.Check(t.Context(), "show", "alice", answer), challenger.ErrWrong)
			require.ErrorIs(t, other.Check(t.Context(), "show", "alice", answer), challenger.ErrWrong)
			time.Sleep(50 * time.Second)
		}
		require.NoError(t, one.Check(t.Context(), "show", "alice", solve(t, ask(t, one, "show", "alice"))))
	})
}

func TestWrongAnswers(t *testing.T) {
	c := open(t, nil)
	q := ask(t, c, "show", "alice")
	right := solve(t, q)
	head, numbers, _ := strings.Cut(right[len("work."):], ".")
	easy := q
	easy.Bits = 0
	for _, wrong := range []string{
		"", "work", "work.", "work..", "work." + head, "work." + head + ".", solve(t, easy), "wait." + head[:9], "token.x", "code.x", "other." + head,
		right + ",0", strings.TrimSuffix(right, ","+numbers[strings.LastIndexByte(numbers, ',')+1:]), right + " ", strings.Replace(right, ",", ",-", 1),
		"work." + head + "." + strings.Replace(numbers, ",", ",4294967296", 1), "work.A" + head[1:] + "." + numbers,
		"work." + head + "." + strings.Repeat(",", 15),
	} {
		require.ErrorIs(t, c.Check(t.Context(), "show", "alice", wrong), challenger.ErrWrong, "%q", wrong)
	}
	require.NoError(t, c.Check(t.Context(), "show", "alice", right))
}

func FuzzAnswer(f *testing.F) {
	c := open(f, func(cfg *challenger.Config) { cfg.Bits = 20 })
	q := ask(f, c, "show", "alice")
	f.Add("work." + q.Puzzle + "." + strings.Repeat("1,", 15) + "1")
	f.Add("wait." + q.Puzzle)
	f.Add("token.x")
	f.Fuzz(func(t *testing.T, answer string) {
		assert.Errorf(t, c.Check(t.Context(), "show", "alice", answer), "%q lets a user in", answer)
	})
}

func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, func(cfg *challenger.Config) {
			cfg.Accessible = challenger.Accessible{Wait: 20 * time.Second, PerMinute: 2}
		})
		wait := func(user string) string {
			q := ask(t, c, "show", user)
			require.Equal(t, 20, q.Wait)
			return "wait." + q.Puzzle
		}
		later := func(err error, want time.Duration) {
			t.Helper()
			var l *challenger.Later
			require.ErrorAs(t, err, &l)
			require.Equal(t, want, l.Wait.Round(time.Millisecond))
			require.ErrorContains(t, err, "full for")
		}
		var answers []string
		for i := range 4 {
			answers = append(answers, wait(fmt.Sprint("user", i)))
		}
		check := func(i int) error { return c.Check(t.Context(), "show", fmt.Sprint("user", i), answers[i]) }
		time.Sleep(5 * time.Second)

		later(check(0), 15*time.Second)
		time.Sleep(15*time.Second + time.Millisecond)
		require.NoError(t, check(0))
		require.NoError(t, check(1))
		later(check(2), time.Minute) // the share of a minute
		require.NoError(t, c.Check(t.Context(), "show", "worker", solve(t, ask(t, c, "show", "worker"))))
		time.Sleep(time.Minute)
		require.NoError(t, check(2), "the answer stays valid")
		require.ErrorIs(t, check(0), challenger.ErrWrong, "it was used")
		later(check(3), time.Minute)
		time.Sleep(4 * time.Minute)
		require.ErrorIs(t, check(3), challenger.ErrWrong, "it is too late")

		nobody := open(t, func(cfg *challenger.Config) { cfg.Accessible.Wait = -1 })
		q := ask(t, nobody, "show", "alice")
		require.Zero(t, q.Wait)
		time.Sleep(time.Minute)
		require.ErrorIs(t, nobody.Check(t.Context(), "show", "alice", "wait."+q.Puzzle), challenger.ErrWrong)
	})
}

func TestCaptcha(t *testing.T) {
	away := false
	c := open(t, func(cfg *challenger.Config) {
		cfg.Page = "/captcha"
		cfg.Captcha = func(_ context.Context, event, user, answer string) error {
			switch {
			case away:
				return fault.MarkInfrastructure(errors.New("no answer"))
			case event+user+answer != "showalicered.car":
				return errors.New("no car")
			}
			return nil
		}
	})
	require.Equal(t, "/captcha", c.Page())
	require.Nil(t, c.Question("show", "alice"))
	require.NoError(t, c.Check(t.Context(), "show", "alice", "token.red.car"))
	require.ErrorIs(t, c.Check(t.Context(), "show", "alice", "token.blue"), challenger.ErrWrong)
	require.ErrorIs(t, c.Check(t.Context(), "show", "alice", "token."), challenger.ErrWrong)
	require.ErrorIs(t, c.Check(t.Context(), "show", "alice", solve(t, ask(t, open(t, nil), "show", "alice"))), challenger.ErrWrong)
	away = true
	err := c.Check(t.Context(), "show", "alice", "token.red.car")
	require.NotErrorIs(t, err, challenger.ErrWrong)
	require.Equal(t, fault.Infrastructure, fault.Of(err))
}

func TestCode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, func(cfg *challenger.Config) {
			cfg.Accessible.PerMinute = 2
			cfg.Accessible.Code = func(_ context.Context, _, _, code string) error {
				if code != "1234" {
					return errors.New("no such code")
				}
				return nil
			}
		})
		require.NoError(t, c.Check(t.Context(), "show", "alice", "code.1234"))
		require.ErrorIs(t, c.Check(t.Context(), "show", "bob", "code.9999"), challenger.ErrWrong)
		var later *challenger.Later // guesses use the share as well
		require.ErrorAs(t, c.Check(t.Context(), "show", "carol", "code.1234"), &later)
	})
}

func TestOnAndOff(t *testing.T) {
	on := false
	c := open(t, func(cfg *challenger.Config) { cfg.On = func(event string) bool { return on && event == "show" } })
	require.False(t, c.On("show"))
	on = true
	require.True(t, c.On("show"))
	require.False(t, c.On("other"))
	require.True(t, open(t, nil).On("any"))
}

func TestSolverIsServed(t *testing.T) {
	for method, body := range map[string]bool{"GET": true, "HEAD": false} {
		w := httptest.NewRecorder()
		challenge.Solver().ServeHTTP(w, httptest.NewRequest(method, "/", nil))
		require.Equal(t, http.StatusOK, w.Code)
		require.Equal(t, "public, max-age=86400", w.Header().Get("Cache-Control"))
		require.Equal(t, body, strings.Contains(w.Body.String(), "onmessage"))
		require.NotContains(t, w.Body.String(), "subtle.")
	}
}

func TestErrorsNameTheFix(t *testing.T) {
	for want, change := range map[string]func(*challenger.Config){
		"Config.Keys is nil":              func(c *challenger.Config) { c.Keys = nil },
		"Config.Limiter is nil":           func(c *challenger.Config) { c.Limiter = nil },
		"Config.Bits is 25; give 1 to 24": func(c *challenger.Config) { c.Bits = 25 },
		`Config.Page is ""; give the path`: func(c *challenger.Config) {
			c.Captcha = func(context.Context, string, string, string) error { return nil }
		},
		"Config.Page is set without Captcha":    func(c *challenger.Config) { c.Page = "/captcha" },
		"Config.Accessible.Wait is 1h0m0s":      func(c *challenger.Config) { c.Accessible.Wait = time.Hour },
		"Config.Accessible.PerMinute is -1; gi": func(c *challenger.Config) { c.Accessible.PerMinute = -1 },
	} {
		cfg := challenger.Config{Keys: ring(t), Limiter: buckets{}}
		change(&cfg)
		_, err := challenger.New(cfg)
		require.ErrorContains(t, err, want)
	}
}

func BenchmarkCheck(b *testing.B) {
	c := open(b, nil)
	q := ask(b, c, "show", "alice")
	answer := solve(b, q)
	for b.Loop() {
		_ = c.Check(b.Context(), "show", "alice", answer) // used, but for the first
	}
}
