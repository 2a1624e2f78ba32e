*** Settings ***
Documentation       Traces, counters of switches at OpenDaylight's inventory paths, and metrics.
Resource            ../resources/coeus.resource
Suite Setup         Start Two Nodes With Pods
Suite Teardown      Stop Lab

*** Variables ***
${TRACE}            /rests/operations/coeus-trace:packet
${NODES}            ${OPERATIONAL}/opendaylight-inventory:nodes

*** Test Cases ***
A Trace Says What A Ping Does
    ${found}=    Trace    blue:p1    blue:p2
    Should Be Equal    ${found}[verdict]    delivered
    Length Should Be    ${found}[hop]    2
    Should Contain    ${found}[reason]    blue:p2
    Ping Should Pass    blue:p1    10.11.2.10
    ${found}=    Trace    blue:p1    red:p3
    Should Be Equal    ${found}[verdict]    dropped
    Should Contain    ${found}[reason]    table 21 (fib)
    Ping Should Fail    blue:p1    10.11.2.20

A Trace Names The Configuration Behind A Flow
    ${found}=    Trace    blue:p1    blue:p2
    ${uid}=    Pod Uid    blue:p2
    ${text}=    Evaluate    str($found)
    Should Contain    ${text}    pod:coe/pods=${uid}

Gateways And Neighbours Are Answered By The Switch
    ${found}=    Trace    blue:p1    10.11.1.1
    Should Be Equal    ${found}[verdict]    answered
    ${found}=    Trace    blue:p1    10.11.1.1    arp
    Should Be Equal    ${found}[verdict]    answered

The Way To Who Is No Pod Ends At A Port
    [Documentation]    A pod's node, which it reaches by the node's own port.
    ${found}=    Trace    blue:p1    192.168.200.1
    Should Be Equal    ${found}[verdict]    delivered
    Should Contain    ${found}[reason]    it leaves by port

Flow Statistics Count What Was Sent
    ${id}=    Dpn Id    1
    Ping Should Pass    blue:p1    10.11.2.10
    Wait Until Keyword Succeeds    30 s    500 ms    Table Should Have Matched    ${id}    21
    ${flows}=    Flows Of Table    ${id}    21
    ${counted}=    Evaluate    sum(int(flow['opendaylight-flow-statistics:flow-statistics']['packet-count']) for flow in $flows)
    Should Be True    ${counted} > 0

Groups Meters And Ports Are Counted
    ${id}=    Dpn Id    1
    ${node}=    Node Counters    ${id}
    Should Not Be Empty    ${node}[flow-node-inventory:group]
    ${group}=    Set Variable    ${node}[flow-node-inventory:group][0]
    Dictionary Should Contain Key    ${group}    opendaylight-group-statistics:group-statistics
    ${counted}=    Evaluate
    ...    [port for port in $node['node-connector'] if int(port.get('opendaylight-port-statistics:flow-capable-node-connector-statistics', {}).get('packets', {}).get('received', 0))]
    Should Not Be Empty    ${counted}
    Should Not Be Empty    ${node}[coeus-statistics:drop]

All Nodes Are Shown Without Their Flows
    ${all}=    Resource Should Exist    ${NODES}
    ${text}=    Evaluate    str($all)
    Should Contain    ${text}    packets-looked-up
    Should Not Contain    ${text}    coeus-statistics:line

Reading Counters Writes Nothing
    ${before}=    Newest Revision
    FOR    ${_}    IN RANGE    5
        Resource Should Exist    ${NODES}
    END
    ${after}=    Newest Revision
    Should Be Equal    ${before}    ${after}

Metrics Are There For Who Logs In
    ${page}=    GET On Session    coeus    /metrics    expected_status=200
    Should Start With    ${page.headers['content-type']}    application/openmetrics-text
    FOR    ${name}    IN    coeus_build_info    coeus_switch_connected    coeus_switch_flows_programmed
    ...    coeus_switch_flow_mods_total    coeus_switch_programming_duration_seconds_bucket
    ...    coeus_objects    coeus_datastore_commits_total
    ...    coeus_journal_append_duration_seconds_bucket    coeus_http_requests_total
    ...    process_resident_memory_bytes
        Should Contain    ${page.text}    ${name}
    END
    Create Session    nobody    ${CONTROLLER}
    GET On Session    nobody    /metrics    expected_status=401

What No Pod May Send Is Counted By Class And Switch
    [Documentation]    Each class is a counter of each switch, and nobody else's moves.
    ${before}=    Dropped Packets
    FOR    ${kind}    ${class}    IN    source mac    source-mac    vlan    vlan    ipv6 source    ipv6-source
        ${sent}=    Attack    blue:p1    blue:p2    ${kind}    fd00:1::10    fd00:1::11
        Wait Until Keyword Succeeds    20 s    500 ms    Dropped Packets Should Have Grown    ${before}    1    ${class}    ${sent}
    END
    ${after}=    Dropped Packets
    FOR    ${class}    IN    source-mac    vlan    ipv6-source    arp-sender    dhcp-server    hidden-header    router
        Should Be Equal    ${after}[${2}][${class}]    ${before}[${2}][${class}]
    END
    Length Should Be    ${after}[${1}]    11

A Switch That Does Not Answer Keeps Nobody Waiting
    [Documentation]    Its numbers of what was dropped are missing, and all others are there.
    Freeze Daemon Of    2    vswitchd
    Sleep    3.1 s    reason=an answer may be as old as that
    TRY
        ${page}=    GET On Session    coeus    /metrics    expected_status=200    timeout=5
        ${dropped}=    Dropped Packets Of    ${page.text}
    FINALLY
        Thaw Daemon Of    2    vswitchd
    END
    Dictionary Should Contain Key    ${dropped}    ${1}
    Dictionary Should Not Contain Key    ${dropped}    ${2}
    Should Contain    ${page.text}    coeus_switch_flows_programmed
    Should End With    ${page.text}    \# EOF\n
    Wait Until Keyword Succeeds    30 s    500 ms    Dropped Packets Should Have Grown    ${dropped}    2    vlan    0

*** Keywords ***
Dropped Packets
    [Documentation]    By node and class.
    ${page}=    GET On Session    coeus    /metrics    expected_status=200
    ${dropped}=    Dropped Packets Of    ${page.text}
    RETURN    ${dropped}

Dropped Packets Of
    [Arguments]    ${page}
    ${dropped}=    Create Dictionary
    FOR    ${node}    IN    ${1}    ${2}
        ${dpid}=    Dpid Of    ${node}
        ${classes}=    Evaluate
        ...    {kind: int(packets) for kind, packets in re.findall('coeus_switch_dropped_packets_total.dpid="' + $dpid + '",class="(.+)". (\\d+)', $page)}
        IF    $classes    Set To Dictionary    ${dropped}    ${node}    ${classes}
    END
    RETURN    ${dropped}

Dropped Packets Should Have Grown
    [Arguments]    ${before}    ${node}    ${class}    ${by}
    ${now}=    Dropped Packets
    ${was}=    Evaluate    $before.get(int($node), {}).get($class, 0)
    ${is}=    Set Variable    ${now}[${${node}}][${class}]
    Should Be True    ${is} >= ${was} + ${by}

Start Two Nodes With Pods
    Start Lab And Session    2
    Announce Node    1    10.11.1.0/24
    Announce Node    2    10.11.2.0/24
    Create And Plug Pod    p1    blue    1    10.11.1.10    10.11.1.1
    Create And Plug Pod    p2    blue    2    10.11.2.10    10.11.2.1
    Create And Plug Pod    p3    red    2    10.11.2.20    10.11.2.1
    Ping Should Pass    blue:p1    10.11.2.10

Trace
    [Arguments]    ${from}    ${to}    ${protocol}=icmp
    ${input}=    Create Dictionary    from=${from}    to=${to}    protocol=${protocol}
    ${body}=    Create Dictionary    coeus-trace:input=${input}
    ${answer}=    POST On Session    coeus    ${TRACE}    json=${body}    expected_status=200
    RETURN    ${answer.json()}[coeus-trace:output]

Node Counters
    [Arguments]    ${id}
    ${found}=    Resource Should Exist    ${NODES}/node/openflow:${id}
    RETURN    ${found}[opendaylight-inventory:node][0]

Flows Of Table
    [Arguments]    ${id}    ${table}
    ${found}=    Resource Should Exist    ${NODES}/node/openflow:${id}/flow-node-inventory:table/${table}
    RETURN    ${found}[flow-node-inventory:table][0][flow]

Table Should Have Matched
    [Arguments]    ${id}    ${table}
    ${found}=    Resource Should Exist
    ...    ${NODES}/node/openflow:${id}/flow-node-inventory:table/${table}/opendaylight-flow-table-statistics:flow-table-statistics
    ${counters}=    Set Variable    ${found}[opendaylight-flow-table-statistics:flow-table-statistics]
    Should Be True    int('${counters}[packets-matched]') > 0

Newest Revision
    ${body}=    Evaluate    {"coeus-history:input": {"limit": 1}}
    ${answer}=    POST On Session    coeus    /rests/operations/coeus-history:list-revisions    json=${body}    expected_status=200
    RETURN    ${answer.json()}[coeus-history:output][newest]
