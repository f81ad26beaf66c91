import { useState } from 'react'
import { TextField, Wrong } from '../parts/fields.tsx'
import { problemsAt, problemsIn, readObject, withMember } from '../rules/rule-json.ts'
import type { ConditionProps } from './condition-fields.tsx'

/** Pairs of metadata, all of which a transfer has to have. */
export function MetadataPairs({
  value,
  onChange,
  problems,
  path,
}: Pick<ConditionProps, 'value' | 'onChange' | 'problems' | 'path'>) {
  const [name, setName] = useState('')
  const pairs = readObject(value)
  const isTaken = Object.hasOwn(pairs, name.trim())
  const add = () => {
    onChange(withMember(pairs, name.trim(), ''))
    setName('')
  }
  return (
    <div className="stack">
      {Object.entries(pairs).map(([key, one]) => (
        <div key={key} className="row">
          <TextField
            label={`${key} is`}
            value={String(one)}
            errors={problemsIn(problems, `${path}.${key}`)}
            onChange={(text) => onChange(withMember(pairs, key, text))}
          />
          <button type="button" className="button" onClick={() => onChange(withMember(pairs, key, undefined))}>
            Remove {key}
          </button>
        </div>
      ))}
      <div className="row">
        <TextField
          label="Name of a pair"
          value={name}
          errors={isTaken ? [`${name.trim()} is there already`] : []}
          onChange={setName}
        />
        <button type="button" className="button" disabled={name.trim() === '' || isTaken} onClick={add}>
          Add the pair
        </button>
      </div>
      <Wrong of={problemsAt(problems, path)} />
    </div>
  )
}
