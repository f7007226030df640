import type { Run } from '../run/command-context.ts'

/** `toolroom completion SHELL` */
export const printCompletionScript: Run = async ({ given }) => {
  const shell = given.word('SHELL') as keyof typeof SCRIPTS
  const script = SCRIPTS[shell]
  return { json: { shell, script }, lines: script.trimEnd().split('\n') }
}

/** The word under the cursor is sent with `=` before it, because PowerShell drops empty arguments. */
const SCRIPTS = {
  // Bash also splits words at : and =, and replaces only what follows the last of them.
  bash: `_toolroom() {
  local line="\${COMP_LINE:0:COMP_POINT}" breaks="\${COMP_WORDBREAKS//[^:=]/}" current= head= name
  local -a words
  read -ra words <<<"$line"
  if [[ "$line" != *[[:space:]] ]]; then
    current="\${words[\${#words[@]}-1]}"
    words=("\${words[@]:0:\${#words[@]}-1}")
  fi
  if [[ -n "$breaks" ]]; then head="\${current%"\${current##*[$breaks]}"}"; fi
  COMPREPLY=()
  while IFS= read -r name; do
    COMPREPLY+=("\${name#"$head"}")
  done < <(toolroom __complete "=$current" "\${words[@]:1}" 2>/dev/null)
}
complete -o default -F _toolroom toolroom
`,
  zsh: `#compdef toolroom
_toolroom() {
  local -a names
  names=("\${(@f)$(toolroom __complete "=\${words[CURRENT]}" "\${(@)words[2,CURRENT-1]}" 2>/dev/null)}")
  if [[ -n "\${names[1]}" ]]; then
    compadd -a names
  else
    _files
  fi
}
compdef _toolroom toolroom
`,
  fish: `function __toolroom_names
  set -l words (commandline -opc)
  toolroom __complete "="(commandline -ct) $words[2..-1] 2>/dev/null
end
complete -c toolroom -a '(__toolroom_names)'
`,
  powershell: `Register-ArgumentCompleter -Native -CommandName toolroom -ScriptBlock {
  param($current, $line, $position)
  $words = @($line.CommandElements | Select-Object -Skip 1 | ForEach-Object { "$_" })
  if ($current -ne '' -and $words.Count -gt 0) { $words = @($words | Select-Object -SkipLast 1) }
  toolroom __complete "=$current" @words 2>$null | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}
`,
} as const
