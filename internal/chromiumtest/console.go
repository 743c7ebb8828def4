package chromiumtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/chromedp/chromedp"
)

// Console keeps what a tab complains about: exceptions and errors, which is also
// how a browser reports a refused connection, a 4xx answer, and what the content
// security policy has stopped.
type Console struct {
	closed sync.WaitGroup // the reader has returned

	mu         sync.Mutex
	complaints []string
	expected   []string
}

// Listen reads the console of the tab of a chromedp context, until that ends.
func Listen(tab context.Context) *Console {
	c := new(Console)
	console := chromedp.Console(tab)
	c.closed.Go(func() {
		for message, err := range console {
			if err != nil {
				return // the tab is closed
			}
			c.hear(message)
		}
	})
	return c
}

// Expect names parts of complaints that belong to the test. Say it before what
// leads to them: a complaint may come later than everything else that tells of
// its cause.
func (c *Console) Expect(parts ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expected = append(c.expected, parts...)
}

// Complaints are the ones nobody expected, of a tab that is closed; it waits for
// that.
func (c *Console) Complaints() []string {
	c.closed.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.complaints)
}

func (c *Console) hear(m chromedp.ConsoleMessage) {
	if m.Type != chromedp.ConsoleError && m.Type != chromedp.ConsoleException {
		return
	}
	complaint := fmt.Sprintf("%s (%s)", m.Text, m.URL)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.ContainsFunc(c.expected, func(part string) bool { return strings.Contains(complaint, part) }) {
		c.complaints = append(c.complaints, complaint)
	}
}
