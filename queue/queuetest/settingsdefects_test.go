package queuetest_test

import (
	"github.com/millrace-go/millrace/queue/driver"
)

func settingsDefects() []defect {
	return []defect{
		{"opens a new room", []string{"closed-until-the-settings-are-known", "nothing-set-keeps-a-pause", "a-loss-closes-the-room"}, hooks{
			visit: func(_ *backend, c call, beats driver.Beats, visits []driver.Visit) (driver.Visited, error) {
				c.r.Closed = false
				return c.visit(beats, visits...)
			},
			admit: func(_ *backend, c call) (driver.Admission, error) {
				c.r.Closed = false
				return c.admit()
			},
		}},
		{"takes nothing for no pause", []string{"nothing-set-keeps-a-pause"}, changing(func(_ *backend, c call, change driver.Change) (driver.State, error) {
			if change.Settings != nil && change.Paused == nil {
				change.Paused = new(false)
			}
			return c.change(change)
		})},
		{"takes settings as they come", []string{"older-settings-change-nothing"}, changing(func(b *backend, c call, change driver.Change) (driver.State, error) {
			if change.Settings != nil {
				b.mu.Lock()
				b.notes["version"]++
				change.Settings = new(1<<40 + b.notes["version"])
				b.mu.Unlock()
			}
			return c.change(change)
		})},
		{"has no challenge", []string{"challenge-of-operators-holds", "a-loss-closes-the-room"}, changing(func(_ *backend, c call, change driver.Change) (driver.State, error) {
			change.Challenge = nil
			return c.change(change)
		})},
		{"takes a change without the challenge for off", []string{"challenge-of-operators-holds"}, changing(func(_ *backend, c call, change driver.Change) (driver.State, error) {
			if change.Settings == nil && change.Challenge == nil && (change.Paused != nil || change.Clear) {
				change.Challenge = new(false)
			}
			return c.change(change)
		})},
		{"keeps a challenge that the settings have no more", []string{"challenge-of-operators-holds"}, changing(func(_ *backend, c call, change driver.Change) (driver.State, error) {
			if change.Settings != nil && change.Challenge == nil {
				change.Challenge = c.state().Challenge
			}
			return c.change(change)
		})},
		{"takes the challenge of older settings", []string{"challenge-of-operators-holds"}, changing(func(_ *backend, c call, change driver.Change) (driver.State, error) {
			if change.Settings != nil && change.Challenge != nil {
				change.Settings = new(max(*change.Settings, c.state().Settings))
			}
			return c.change(change)
		})},
	}
}
