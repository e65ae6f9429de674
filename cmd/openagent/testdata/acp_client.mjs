// A client of the Agent Client Protocol for tests, made with the official SDK.
//
//	node acp_client.mjs SDK COMMAND ARGS…
//
// It starts the command. Each line on stdin tells it what to send:
//
//	{"do": "request", "n": 1, "method": …, "params": …}    answered by {"n": 1, "result": …} or {"n": 1, "error": …}
//	{"do": "abort", "n": 1}                                cancels the request by $/cancel_request
//	{"do": "notify", "method": …, "params": …}
//	{"do": "answer", "ask": 1, "result": …}                answers {"ask": 1, "method": …, "params": …}
//
// Updates are lines {"update": …}. At the end of stdin it closes the stdin of the command and writes
// {"exit": CODE}.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const acp = await import(pathToFileURL(process.argv[2]).href);
const agent = spawn(process.argv[3], process.argv.slice(4), { stdio: ["pipe", "pipe", "inherit"] });
const out = (line) => process.stdout.write(JSON.stringify(line) + "\n");
out({ pid: agent.pid });

let asks = 0;
const waiting = new Map();
const ask = (method) => ({ params, signal }) =>
  new Promise((resolve, reject) => {
    const id = ++asks;
    waiting.set(id, resolve);
    signal?.addEventListener("abort", () => {
      waiting.delete(id);
      out({ withdrawn: id });
      reject(new Error("withdrawn"));
    });
    out({ ask: id, method, params });
  });

const aborts = new Map();
const app = acp
  .client({ name: "test" })
  .onRequest(acp.methods.client.session.requestPermission, ask("session/request_permission"))
  .onRequest(acp.methods.client.elicitation.create, ask("elicitation/create"))
  .onNotification(acp.methods.client.session.update, ({ params }) => out({ update: params.update, session: params.sessionId }));

const connection = app.connect(acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout)));
const cx = connection.agent;
for await (const line of createInterface({ input: process.stdin })) {
  const o = JSON.parse(line);
  switch (o.do) {
    case "request": {
      const abort = new AbortController();
      aborts.set(o.n, abort);
      cx.request(o.method, o.params, { cancellationSignal: abort.signal }).then(
        (result) => out({ n: o.n, method: o.method, result: result ?? {} }),
        (error) => out({ n: o.n, method: o.method, error: { code: error.code, message: error.message, data: error.data } }),
      );
      break;
    }
    case "abort":
      aborts.get(o.n).abort();
      break;
    case "notify":
      cx.notify(o.method, o.params);
      break;
    case "answer":
      waiting.get(o.ask)?.(o.result);
      waiting.delete(o.ask);
      break;
  }
}
agent.on("exit", (code, signal) => {
  out({ exit: code ?? signal });
  process.exit(0);
});
if (agent.exitCode !== null || agent.signalCode !== null) {
  out({ exit: agent.exitCode ?? agent.signalCode });
  process.exit(0);
}
agent.stdin.end();
