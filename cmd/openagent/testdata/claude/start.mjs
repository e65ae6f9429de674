// Starting: flags, system prompts, agents, skills, schemas, titles, and what cannot be honoured.
import { existsSync } from 'node:fs'
import { ask, assert, scenario, sdk, succeeded } from './harness.mjs'

const hello = [{ text: 'Hello.' }]

scenario('plain', { steps: hello, asked: ['You are an agent. Use your tools'], not: ['You are openagent'] }, async () => {
  const r = await ask('hi')
  succeeded(r, 'Hello.')
  assert.equal(r.of('user').length, 0, 'the prompt came back')
  for (const k of ['cwd', 'session_id', 'tools', 'mcp_servers', 'model', 'permissionMode', 'slash_commands', 'apiKeySource', 'claude_code_version', 'output_style', 'agents', 'skills', 'plugins', 'capabilities']) {
    assert.ok(k in r.init, k)
  }
  for (const k of ['stop_reason', 'total_cost_usd', 'usage', 'modelUsage', 'permission_denials', 'terminal_reason', 'num_turns', 'duration_ms', 'uuid', 'session_id']) {
    assert.ok(k in r.result, k)
  }
  assert.equal(r.result.stop_reason, 'end_turn')
  assert.equal(r.result.usage.server_tool_use.web_search_requests, 0)
  assert.equal(r.result.structured_output, undefined)
  const used = Object.values(r.result.modelUsage)
  assert.ok(used.length === 1 && used[0].contextWindow > 0 && used[0].webSearchRequests === 0)
})

scenario('preset prompt', { steps: hello, asked: ['You are openagent', 'Speak like a pirate'] }, async () => {
  succeeded(await ask('hi', { systemPrompt: { type: 'preset', preset: 'claude_code', append: 'Speak like a pirate.' } }))
})
scenario('text prompt', { steps: hello, asked: ['You count sheep'], not: ['You are openagent'] }, async () => {
  succeeded(await ask('hi', { systemPrompt: 'You count sheep.' }))
})
scenario('list prompt', { steps: hello, asked: ['First part', 'Second part'], not: ['DYNAMIC_BOUNDARY'] }, async () => {
  succeeded(await ask('hi', { systemPrompt: ['First part.', sdk.SYSTEM_PROMPT_DYNAMIC_BOUNDARY, 'Second part.'] }))
})

scenario('many flags', { steps: hello }, async () => {
  succeeded(await ask('hi', {
    allowedTools: ['Read', 'Bash(git log:*)'], disallowedTools: ['WebFetch'], permissionMode: 'acceptEdits', allowDangerouslySkipPermissions: true, maxTurns: 3, maxBudgetUsd: 2,
    settingSources: [], includePartialMessages: true, includeHookEvents: true, thinking: { type: 'disabled' }, strictMcpConfig: true, additionalDirectories: [process.env.HOME],
    persistSession: false, betas: ['context-1m-2025-08-07'], permissionPrompts: 'none', debug: true, extraArgs: { 'replay-user-messages': null }, title: 'Sheep',
  }))
})
scenario('effort and thinking', { steps: hello }, async () => {
  succeeded(await ask('hi', { thinking: { type: 'adaptive', display: 'summarized' }, effort: 'xhigh' }))
})
scenario('no tools', { steps: hello, not: ['"name":"Read"'] }, async () => {
  const r = await ask('hi', { tools: [] })
  succeeded(r)
  assert.ok(!r.init.tools.includes('Read'))
})
scenario('some tools', { steps: hello }, async () => {
  const r = await ask('hi', { tools: ['Read', 'Grep'] })
  succeeded(r)
  assert.deepEqual(r.init.tools.filter(t => ['Read', 'Grep', 'Bash'].includes(t)).sort(), ['Grep', 'Read'])
})
scenario('preset tools', { steps: hello }, async () => {
  const r = await ask('hi', { tools: { type: 'preset', preset: 'claude_code' } })
  succeeded(r)
  assert.ok(r.init.tools.includes('Bash'))
})
scenario('agents', { steps: [{ calls: [{ id: 'a1', name: 'Agent', input: { subagent_type: 'counter', description: 'count', prompt: 'count to 3' } }] }, { text: 'one two three' }, { text: 'done' }], asked: ['You count'] }, async () => {
  const r = await ask('hi', { agents: { counter: { description: 'counts', prompt: 'You count.', tools: ['Read'] } } })
  succeeded(r, 'done')
  assert.ok(r.init.agents.includes('counter'))
  const inner = r.of('assistant').find(m => m.parent_tool_use_id === 'a1')
  assert.equal(inner.subagent_type, 'counter')
  const started = r.of('system', 'task_started')[0]
  assert.equal(started.tool_use_id, 'a1')
  assert.equal(r.of('system', 'task_notification')[0].status, 'completed')
  const end = r.of('user').find(m => m.message.content[0].tool_use_id === 'a1')
  assert.equal(end.tool_use_result.status, 'completed')
  assert.equal(end.tool_use_result.agentType, 'counter')
})
scenario('schema', { steps: [{ text: '{"n": 3}' }] }, async () => {
  const r = await ask('count', { outputFormat: { type: 'json_schema', schema: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } } })
  succeeded(r)
  assert.deepEqual(r.result.structured_output, { n: 3 })
})
scenario('initialization result', { steps: hello }, async () => {
  let got
  const r = await ask('hi', {}, async (m, q) => {
    if (m.subtype !== 'init') return
    got = { all: await q.initializationResult(), commands: await q.supportedCommands(), models: await q.supportedModels(), agents: await q.supportedAgents(), account: await q.accountInfo() }
  })
  succeeded(r)
  assert.equal(got.models[0].value, 'default')
  assert.ok(got.models.length > 2 && got.commands.length > 0 && got.agents.length > 0)
  assert.ok(got.account.apiKeySource)
  assert.equal(got.all.output_style, 'default')
  assert.equal(typeof got.all.pid, 'number')
})

// What this program cannot honour ends it before the first prompt.
for (const [name, options, says] of [
  ['unknown hook event', { hooks: { PreModelSwitch: [{ hooks: [async () => ({})] }] } }, /PreModelSwitch/],
  ['tool aliases', { toolAliases: { Bash: 'mcp__box__run' } }, /toolAliases/],
  ['bad agents', { agents: { 'bad name!': { description: 'x', prompt: 'y' } } }, /bad name/],
  ['bad schema', { outputFormat: { type: 'json_schema', schema: { type: 7 } } }, /json|schema/i],
]) {
  scenario(name, { steps: [], requests: 0 }, async () => {
    const r = await ask('hi', options)
    assert.ok(r.error, 'the query went on')
    assert.match(String(r.error) + r.stderr, says)
  })
}
scenario('no key', { steps: [], requests: 0 }, async () => {
  const r = await ask('hi', { env: { PATH: process.env.PATH, HOME: process.env.HOME } })
  assert.ok(r.error)
  assert.match(String(r.error) + r.stderr, /API key/)
})
scenario('bad matcher', { steps: [], requests: 0 }, async () => {
  const r = await ask('hi', { hooks: { PreToolUse: [{ matcher: '(', hooks: [async () => ({})] }] } })
  assert.ok(r.error)
  assert.equal(existsSync('written'), false)
})
