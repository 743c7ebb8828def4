//go:build !race

package sqlitebus_test

const raceDetector = false
