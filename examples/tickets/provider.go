package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// errDeclined is the provider's refusal of a card.
var errDeclined = errors.New("the card was declined")

// provider simulates a payment provider: like a real one it charges once for each key.
// It keeps its charges in a file.
type provider struct {
	mu      sync.Mutex
	file    *os.File
	size    int64 // of its whole lines
	charges map[string]charge
}

type charge struct {
	Key, Card string
	Cents     int64
	Declined  bool
}

func openProvider(path string) (*provider, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	p := &provider{file: file, charges: map[string]charge{}}
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return p, file.Truncate(p.size) // a line that a crash has cut was never answered
		}
		var c charge
		if err == nil {
			err = json.Unmarshal(line, &c)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("the provider's file %s after byte %d: %w", path, p.size, err), file.Close())
		}
		p.charges[c.Key] = c
		p.size += int64(len(line))
	}
}

// Charge charges a card, unless it has done so for this key. It declines the card
// "declined".
func (p *provider) Charge(_ context.Context, key, card string, cents int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, known := p.charges[key]
	if !known {
		c = charge{key, card, cents, card == "declined"}
		line, err := json.Marshal(c)
		if err != nil {
			return err
		}
		line = append(line, '\n')
		_, err = p.file.Write(line)
		if err == nil {
			err = p.file.Sync()
		}
		if err != nil { // a full disk leaves half a line, which the next one must not stand behind
			return fmt.Errorf("the provider is not there: %w", errors.Join(err, p.file.Truncate(p.size)))
		}
		p.charges[key], p.size = c, p.size+int64(len(line))
	}
	if c.Declined {
		return errDeclined
	}
	return nil
}

// Close closes the file.
func (p *provider) Close() error { return p.file.Close() }
