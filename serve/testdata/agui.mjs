// Uses the server with the client of the Agent-User Interaction protocol, which checks each event:
// node agui.mjs CLIENT ADDRESS TOKEN. Each line of the output is a result.
const [sdk, address, token] = process.argv.slice(2);
const { HttpAgent } = await import(sdk);
const show = (name, value) => console.log(JSON.stringify({ name, value }));
const make = (threadId, headers = { Authorization: "Bearer " + token }) => new HttpAgent({ url: address + "/agui", threadId, headers });
const run = async (agent, params = {}) => {
	const types = [];
	let outcome = null, failed = null;
	await agent.runAgent(params, {
		onEvent: ({ event }) => {
			if (types.at(-1) !== event.type) types.push(event.type);
			if (event.type === "RUN_FINISHED") outcome = event.outcome;
			if (event.type === "RUN_ERROR") failed = event.code;
		},
	}).catch((e) => { failed ??= e.status ?? e.message; });
	return { types, outcome, failed };
};
const brief = (m) => [m.role, typeof m.content === "string" ? m.content : null, ...(m.toolCalls ?? []).map((c) => c.function.name + c.function.arguments)];

const agent = make("thread");
agent.setState({ theirs: 1 });
agent.setMessages([{ id: "u1", role: "user", content: [{ type: "text", text: "look" }, { type: "image", source: { type: "data", value: "iVBORw0KGgo=", mimeType: "image/png" } }] }]);
const first = await run(agent, { runId: "r1" });
show("first", [first.types, first.outcome.type]);
show("messages", agent.messages.map(brief));
show("state", [agent.state.theirs, agent.state.openagent.session, agent.state.openagent.reason]);

agent.addMessage({ id: "u2", role: "user", content: "write" });
const asked = await run(agent, { runId: "r2" });
const interrupt = asked.outcome.interrupts[0];
show("asked", [asked.types.at(-1), interrupt.reason, interrupt.toolCallId === interrupt.id, interrupt.responseSchema.required]);
const allowed = await run(agent, { runId: "r3", resume: [{ interruptId: interrupt.id, status: "resolved", payload: { approved: true } }] });
show("allowed", [allowed.types, allowed.outcome.type, agent.messages.slice(-3).map(brief)]);

agent.addMessage({ id: "u3", role: "user", content: "write again" });
const again = await run(agent, { runId: "r4" });
const cancelled = await run(agent, { runId: "r5", resume: [{ interruptId: again.outcome.interrupts[0].id, status: "cancelled" }] });
show("denied", [cancelled.outcome.type, agent.messages.at(-1).content]);

agent.addMessage({ id: "u4", role: "user", content: "fail" });
const failing = await run(agent, { runId: "r6" });
show("failed", [failing.types.at(-1), failing.failed]);

const stranger = make("x", {});
stranger.addMessage({ id: "x", role: "user", content: "hi" });
show("stranger", (await run(stranger)).failed);

const slow = make("slow");
slow.addMessage({ id: "s", role: "user", content: "slowly" });
await slow.runAgent({ runId: "s1" }, { onTextMessageContentEvent: () => slow.abortRun() }).catch(() => {});
show("stopped", true);
