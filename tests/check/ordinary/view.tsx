import React, {useState} from 'react';

export function View({items}: {items: string[]}) {
  const [open, setOpen] = useState<boolean>(false);
  return <ul onClick={() => setOpen(!open)}>{items.map((item) => <li key={item}>{item} eval(1)</li>)}</ul>;
}
