//go:build unix

package postgres_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/openagent-go/agent/postgres"
	"github.com/openagent-go/agent/postgres/internal/pgtest"
)

// TestOperations: the database takes the statements of the page about operation.
func TestOperations(t *testing.T) {
	if server == nil {
		t.Skip(pgtest.ErrNone)
	}
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	url := server.Database(t)
	connect(t, url, postgres.Options{})
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	blocks := regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllSubmatch(page, -1)
	if len(blocks) < 10 {
		t.Errorf("the page has %d statements", len(blocks))
	}
	for _, block := range blocks {
		if _, err := pool.Exec(t.Context(), string(block[1])); err != nil {
			t.Errorf("%s%v", block[1], err)
		}
	}
}
