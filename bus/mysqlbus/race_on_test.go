//go:build race

package mysqlbus_test

const raceDetector = true
