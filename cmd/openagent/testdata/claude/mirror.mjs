// Sessions in a store of the SDK's user, which the lines transcript_mirror fill.
import { ask, assert, scenario, sdk, succeeded } from './harness.mjs'

const dir = process.cwd()

scenario('session store', {
  files: { 'a.txt': 'hello' },
  steps: [{ text: 'I look.', calls: [{ id: 'r1', name: 'Read', input: { file_path: 'a.txt' } }] }, { calls: [{ id: 'a1', name: 'Agent', input: { prompt: 'look', description: 'look', subagent_type: 'Explore' } }] },
    { text: 'the agent is done' }, { text: 'done' }, { text: 'again' }],
}, async () => {
  const sessionStore = new sdk.InMemorySessionStore()
  const r = await ask('look at it', { sessionStore, title: 'A look' })
  succeeded(r, 'done')
  const id = r.result.session_id
  const all = await sdk.listSessions({ dir, sessionStore })
  assert.equal(all.length, 1, r.stderr)
  assert.equal(all[0].sessionId, id)
  assert.equal(all[0].customTitle, 'A look')
  const kinds = async id => (await sdk.getSessionMessages(id, { dir, sessionStore })).map(m => m.type)
  const first = ['user', 'assistant', 'assistant', 'user', 'assistant', 'user', 'assistant']
  assert.deepEqual(await kinds(id), first)
  assert.deepEqual((await sdk.getSessionMessages(id, { dir, sessionStore })).filter(m => m.type === 'assistant').map(m => m.uuid), r.of('assistant').filter(m => !m.parent_tool_use_id).map(m => m.uuid))
  const agents = await sdk.listSubagents(id, { dir, sessionStore })
  assert.equal(agents.length, 1)
  const said = await sdk.getSubagentMessages(id, agents[0], { dir, sessionStore })
  assert.deepEqual(said.map(m => m.type), ['user', 'assistant'])
  assert.equal(said[0].parent_tool_use_id, 'a1')
  await sdk.renameSession(id, 'Renamed', { dir, sessionStore })
  await sdk.tagSession(id, 'checked', { dir, sessionStore })
  assert.equal((await sdk.getSessionInfo(id, { dir, sessionStore })).customTitle, 'Renamed')
  const fork = await sdk.forkSession(id, { dir, sessionStore })
  assert.deepEqual(await kinds(fork.sessionId), first)
})

scenario('session store of a fork', { steps: [{ text: 'Hello.' }, { text: 'Again.' }, { text: 'More.' }] }, async () => {
  const sessionStore = new sdk.InMemorySessionStore()
  const r = await ask('hi', { sessionStore })
  succeeded(r, 'Hello.')
  const texts = async id => (await sdk.getSessionMessages(id, { dir, sessionStore })).map(m => m.type)
  const fork = await ask('again', { sessionStore, resume: r.result.session_id, forkSession: true })
  succeeded(fork, 'Again.')
  assert.notEqual(fork.result.session_id, r.result.session_id)
  assert.deepEqual(await texts(fork.result.session_id), ['user', 'assistant', 'user', 'assistant'])
  succeeded(await ask('more', { sessionStore, resume: fork.result.session_id }), 'More.')
  assert.deepEqual(await texts(fork.result.session_id), ['user', 'assistant', 'user', 'assistant', 'user', 'assistant'])
})

scenario('no session store', { steps: [{ text: 'Hello.' }] }, async () => {
  const r = await ask('hi')
  succeeded(r, 'Hello.')
  assert.equal(r.of('transcript_mirror').length, 0)
})

scenario('session files', { steps: [{ text: 'Hello.' }, { text: 'Again.' }] }, async () => {
  const settings = JSON.stringify({ claude_sessions: true })
  const r = await ask('hi', { settings, title: 'Greeting' })
  succeeded(r, 'Hello.')
  const id = r.result.session_id
  assert.deepEqual((await sdk.listSessions({ dir })).map(s => [s.sessionId, s.customTitle, s.firstPrompt]), [[id, 'Greeting', 'hi']])
  succeeded(await ask('once more', { settings, resume: id }), 'Again.')
  assert.equal((await sdk.getSessionMessages(id, { dir })).length, 4)
})
