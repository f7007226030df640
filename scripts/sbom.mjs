// The software bill of materials: what users install, and the packages whose code is part of dist.
import { fail, run } from './lib.mjs'
import { bundledPackages } from './licences.mjs'
import { findNpm } from './prepare.mjs'

const DEVELOPMENT = 'cdx:npm:package:development'

/** @returns a CycloneDX document, as text */
export async function billOfMaterials() {
  const [npm, ...before] = findNpm() ?? fail('npm was not found')
  const args = ['sbom', '--sbom-format=cyclonedx', '--package-lock-only', '--loglevel=error']
  const { code, output } = await run(npm, [...before, ...args], { quiet: true })
  if (code !== 0) fail(output)
  const document = JSON.parse(output.slice(output.indexOf('{')))
  const bundled = new Set(bundledPackages().map(({ name, version }) => `${name}@${version}`))
  const isDevelopment = ({ properties }) => properties.some(({ name }) => name === DEVELOPMENT)
  const components = document.components
    .filter((each) => bundled.has(each['bom-ref']) || !isDevelopment(each))
    .filter(({ name }) => name !== 'toolroom-web')
    .map((each) => ({
      ...each,
      scope: 'required',
      properties: each.properties.filter(({ name }) => name !== DEVELOPMENT),
    }))
  const known = new Set(components.map((each) => each['bom-ref']))
  const { component } = document.metadata
  const dependencies = document.dependencies
    .filter(({ ref }) => known.has(ref) || ref === component['bom-ref'])
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((each) => known.has(each)) }))
  const metadata = { ...document.metadata, component: { ...component, name: 'toolroom' } }
  return `${JSON.stringify({ ...document, metadata, components, dependencies }, null, 2)}\n`
}
