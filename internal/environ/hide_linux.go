package environ

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Hide takes the values of secret variables out of the memory in which the system gave them to this
// program: other processes of the same user, such as commands of a model, read it as /proc/PID/environ.
// [os.Getenv] still has them, because Go has copied them. Call it once, at the start of the program.
func Hide() error {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return err
	}
	// The name of the program in parentheses may have spaces. What follows it are the fields from 3 on.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const first, envStart, envEnd = 3, 50, 51 // numbers of fields, see proc(5)
	if len(fields) <= envEnd-first {
		return errors.New("/proc/self/stat does not say where the environment is")
	}
	start, err := strconv.ParseInt(fields[envStart-first], 10, 64)
	if err != nil {
		return err
	}
	end, err := strconv.ParseInt(fields[envEnd-first], 10, 64)
	if err != nil {
		return err
	}
	if start <= 0 || end <= start || end-start > maxEnv {
		return fmt.Errorf("the environment is not where /proc/self/stat says: from %d to %d", start, end)
	}
	memory, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer memory.Close()
	env := make([]byte, end-start)
	if _, err := memory.ReadAt(env, start); err != nil {
		return err
	}
	at := 0
	for _, kv := range bytes.SplitAfter(env, []byte{0}) {
		name, value, _ := bytes.Cut(kv, []byte("="))
		if n := string(name); Secret(n) || Own(n) || SecretValue(string(bytes.TrimRight(value, "\x00"))) {
			clear(env[at+len(kv)-len(value) : at+len(kv)])
		}
		at += len(kv)
	}
	_, err = memory.WriteAt(env, start)
	return err
}

// maxEnv is the largest environment that the system gives a program, in bytes, and more.
const maxEnv = 64 << 20
